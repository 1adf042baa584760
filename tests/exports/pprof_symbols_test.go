package exports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/programs"
)

// TestPprofSymbolizes records programs without symbols, which go tool pprof then looks up itself, in files of the same
// code: it needs to know where in these files the addresses lie. So it does of merged recordings, and of profiles that
// came back.
func TestPprofSymbolizes(t *testing.T) {
	for name, flag := range map[string]string{"anywhere": "-pie", "positioned": "-no-pie"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			at := func(name string) string { return filepath.Join(folder, name) }
			tool(t, "g++", "-g", "-O1", flag, "-o", at("full"), "testdata/shop.cc")
			tool(t, "objcopy", "--strip-all", at("full"), at("shop"))
			if err := record(&programs.Case{Args: []string{at("shop")}}, folder, at("a.htap")); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(at("full"), at("shop")); err != nil {
				t.Fatal(err)
			}
			command(t, "merge", "-o", at("merged.htap"), at("a.htap"), at("a.htap"))
			command(t, "import", "-o", at("back.htap"), exported(t, "pprof", at("a.htap")))
			command(t, "merge", "-o", at("both.htap"), at("back.htap"), at("merged.htap"))
			for _, recording := range []string{"a.htap", "merged.htap", "back.htap", "both.htap"} {
				text := string(tool(t, thePprof(t), "-symbolize=local", "-traces",
					"-sample_index=leaked_space", exported(t, "pprof", at(recording))))
				if !strings.Contains(text, " leak") || !strings.Contains(text, " main") {
					t.Errorf("%s: %s", recording, text)
				}
			}
		})
	}
}

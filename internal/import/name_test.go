package imports_test

import (
	"testing"

	imports "github.com/heaptap/heaptap/internal/import"
)

func TestOutputName(t *testing.T) {
	for file, want := range map[string]string{
		"a/heaptrack.server.4711.zst": "heaptrack.server.4711.htap", "heap.pb.gz": "heap.htap",
		"x.dhat.json": "x.htap", "massif.out.4711": "massif.out.4711.htap", ".gz": ".gz.htap",
	} {
		if got := imports.OutputName(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

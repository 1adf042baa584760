package exports

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOnlySums exports a recording that has sums only: formats that show moments show those that are known, with the
// same sums.
func TestOnlySums(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "merged.htap")
	command(t, "merge", "-o", path, list["four"], list["sqlite"])
	want := totals(t, path)

	for _, one := range judge[otlpProfiles](t, "otlp", exported(t, "otlp", path))[0].Profiles {
		if n := want[otlpMetrics[one.Type]]; one.Sum != n {
			t.Errorf("%s: %d, expected %d", one.Type, one.Sum, n)
		}
	}

	b, err := os.ReadFile(exported(t, "perfetto", path))
	if err != nil {
		t.Fatal(err)
	}
	p := readTrace(t, b)
	if len(p.profiles) != 1 || p.profiles[0].bytes != want["bytes"] || p.profiles[0].freed != want["freed"] ||
		len(p.counters["live bytes"]) == 0 {
		t.Errorf("perfetto: %d profiles, %d bytes, %d freed, %d points; expected %v", len(p.profiles),
			p.profiles[0].bytes, p.profiles[0].freed, len(p.counters["live bytes"]), want)
	}

	file := exported(t, "firefox", path)
	judge[struct{}](t, "schema", "testdata/firefox.schema.json", file)
	if b, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	var f firefoxProfile
	decode(t, b, &f)
	checkIndexes(t, "firefox", &f)
	checkAllocations(t, "firefox", path, &f, want)
}

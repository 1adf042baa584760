package exports

import (
	"maps"
	"os"
	"strings"
	"testing"
)

type otlpProfiles struct {
	Scope    string
	Resource map[string]any
	Profiles []struct {
		Type, Unit string
		Time       uint64
		Sum        uint64
		Samples    []struct {
			Value uint64
			Stack []struct {
				Function, File, Module, BuildID string
				Outside                         bool
			}
			Labels map[string]string
		}
	}
}

// otlpMetrics are the metrics by the types of profiles.
var otlpMetrics = map[string]string{"alloc_objects": "allocations", "alloc_space": "bytes",
	"inuse_objects": "live-blocks", "inuse_space": "live",
	"peak_objects": "peak-blocks", "peak_space": "peak", "leaked_objects": "leaked-blocks", "leaked_space": "leaked",
	"temporary_objects": "temporary", "temporary_space": "temporary-bytes"}

// TestOTLP has the collector's own library read, write and read again.
func TestOTLP(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		p := judge[otlpProfiles](t, "otlp", exported(t, "otlp", path))[0]
		if p.Scope == "" || p.Resource["service.name"] == nil || len(p.Profiles) != len(otlpMetrics) {
			t.Fatalf("scope %q, resource %v, %d profiles", p.Scope, p.Resource, len(p.Profiles))
		}
		for _, one := range p.Profiles {
			metric := otlpMetrics[one.Type]
			if n, known := want[metric]; !known || one.Sum != n {
				t.Errorf("%s: %d, expected %d", one.Type, one.Sum, n)
			}
			if one.Unit != map[bool]string{true: "bytes", false: "count"}[strings.HasSuffix(one.Type, "space")] ||
				one.Time == 0 {
				t.Errorf("%s: unit %q, time %d", one.Type, one.Unit, one.Time)
			}
			got := map[string]uint64{}
			for _, s := range one.Samples {
				for _, frame := range s.Stack {
					if frame.Outside {
						t.Errorf("%s: an address is outside of its module: %v", one.Type, frame)
					}
				}
				if len(s.Stack) == 0 {
					t.Fatalf("%s: a sample without frames", one.Type)
				}
				if name := s.Stack[0].Function; name != "" {
					got[name] += s.Value
				}
			}
			functions := selves(t, path, metric)
			// Addresses.
			maps.DeleteFunc(functions, func(name string, _ uint64) bool { return strings.Contains(name, "0x") })
			sameSelves(t, one.Type, got, functions)
		}
	})
}

// TestOTLPThreads has threads as attributes. One of the five only frees.
func TestOTLPThreads(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	p := judge[otlpProfiles](t, "otlp", exported(t, "otlp", list["four"], "--by", "thread", "--metric",
		"allocations"))[0]
	threads := map[string]uint64{}
	for _, s := range p.Profiles[0].Samples {
		threads[s.Labels["thread.id"]] += s.Value
	}
	if len(p.Profiles) != 1 || len(threads) != 4 || p.Profiles[0].Sum != totals(t, list["four"])["allocations"] {
		t.Errorf("%d profiles; threads: %v", len(p.Profiles), threads)
	}
}

// TestOTLPReleases reads the older release with its own code, and holds that the newer one is something else to it.
func TestOTLPReleases(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		for _, one := range judge[otlpProfiles](t, "otlp-v0.2", exported(t, "otlp:v0.2", path))[0].Profiles {
			if n := want[otlpMetrics[one.Type]]; one.Sum != n {
				t.Errorf("%s: %d, expected %d", one.Type, one.Sum, n)
			}
		}
		if name == "empty" {
			return
		}
		old, err := os.ReadFile(exported(t, "otlp:v0.2", path))
		if err != nil {
			t.Fatal(err)
		}
		current, err := os.ReadFile(exported(t, "otlp", path))
		if err != nil {
			t.Fatal(err)
		}
		if string(old) == string(current) {
			t.Error("both releases are the same")
		}
	})
}

package exports

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

var (
	dir     string // of what all tests share
	heaptap string // the binary
)

func TestMain(m *testing.M) {
	var err error
	if dir, heaptap, err = kit.Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	kit.Main(m, func() { stopClickHouse() })
}

// each runs a test on every recording, several at the same time: most of a test is one program after the other.
func each(t *testing.T, test func(t *testing.T, name, path string)) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name, path)
		})
	}
}

// command runs heaptap, which has to succeed, and returns what it prints. What it says about a recording that all tests
// share it is asked only once.
func command(t *testing.T, args ...string) []byte {
	t.Helper()
	if args[0] != "report" && args[0] != "top" || !slices.ContainsFunc(args, shared) {
		return tool(t, heaptap, args...)
	}
	return once(t, args, func() ([]byte, error) { return output(heaptap, args...) })
}

// shared says whether a path is that of one of the recordings that all tests share. These do not change.
func shared(path string) bool { return filepath.Dir(path) == dir && filepath.Ext(path) == ".htap" }

// results are what programs have said and written about files that do not change, by their arguments.
var results sync.Map

// once returns the result of arguments, and computes it if it is not there.
func once[T any](t *testing.T, args []string, compute func() (T, error)) T {
	t.Helper()
	of, _ := results.LoadOrStore(strings.Join(args, "\x00"), sync.OnceValues(compute))
	result, err := of.(func() (T, error))()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// tool runs another program, which has to succeed, and returns what it prints.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := output(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func output(name string, args ...string) ([]byte, error) {
	out, err := exec.Command(name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %.500q: %w\n%.2000s", name, args, err, exit.Stderr)
	}
	return out, err
}

// exported is a recording in a format, in a file that must not be changed: tests that ask for the same share it.
func exported(t *testing.T, format, path string, flags ...string) string {
	t.Helper()
	args := append([]string{"export", "-f", format, path}, flags...)
	if !shared(path) {
		to := filepath.Join(t.TempDir(), "out")
		command(t, append(args, "-o", to)...)
		return to
	}
	return once(t, args, func() (string, error) {
		folder, err := os.MkdirTemp(dir, "export-")
		if err != nil {
			return "", err
		}
		to := filepath.Join(folder, "out")
		_, err = output(heaptap, append(args, "-o", to)...)
		return to, err
	})
}

// totals are the sums of a recording, by metric, as heaptap report has them.
func totals(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	var r struct {
		Totals struct {
			Allocations, Bytes, Deallocations uint64
			Freed                             uint64 `json:"freed_bytes"`
		}
		Peak   struct{ Bytes, Blocks uint64 }
		Leaked struct {
			Bytes, Blocks uint64
			RuntimeBytes  uint64 `json:"runtime_bytes"`
			RuntimeBlocks uint64 `json:"runtime_blocks"`
		}
		Temporary struct{ Allocations, Bytes uint64 }
	}
	decode(t, command(t, "report", "--json", "--top", "1", path), &r)
	return map[string]uint64{"allocations": r.Totals.Allocations, "bytes": r.Totals.Bytes,
		"deallocations": r.Totals.Deallocations, "freed": r.Totals.Freed,
		"peak": r.Peak.Bytes, "peak-blocks": r.Peak.Blocks,
		"leaked": r.Leaked.Bytes, "leaked-blocks": r.Leaked.Blocks,
		"live":        r.Leaked.Bytes + r.Leaked.RuntimeBytes,
		"live-blocks": r.Leaked.Blocks + r.Leaked.RuntimeBlocks,
		"temporary":   r.Temporary.Allocations, "temporary-bytes": r.Temporary.Bytes}
}

func decode(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%v: %.300q", err, b)
	}
}

// TestDeterministic writes everything twice.
func TestDeterministic(t *testing.T) {
	var list struct {
		Formats []struct {
			Name     string
			Variants []struct{ Name string }
		}
	}
	decode(t, command(t, "export", "--list", "--json"), &list)
	var names []string
	for _, f := range list.Formats {
		names = append(names, f.Name)
		for _, v := range f.Variants[min(1, len(f.Variants)):] {
			names = append(names, f.Name+":"+v.Name)
		}
	}
	if len(names) < 6 {
		t.Errorf("few formats: %q", names)
	}
	each(t, func(t *testing.T, name, path string) {
		if name == "sqlite" || name == "cc1plus" || name == "redis" {
			return // like python
		}
		for _, f := range names {
			a, b := read(t, exported(t, f, path)), command(t, "export", "-f", f, path)
			if a != string(b) {
				t.Errorf("%s: not the same twice", f)
			}
		}
	})
}

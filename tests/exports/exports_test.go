package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// command runs heaptap, which has to succeed and to say nothing on stderr, and returns what it prints.
func command(t *testing.T, args ...string) []byte {
	t.Helper()
	return tool(t, heaptap, args...)
}

// tool runs another program in the same way.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s %.500q: %v\n%.2000s", name, args, err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return out
}

// exported writes a recording in a format, to a file.
func exported(t *testing.T, format, path string, flags ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out"+filepath.Ext(path))
	command(t, append([]string{"export", "-f", format, "-o", to, path}, flags...)...)
	return to
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
			a, b := command(t, "export", "-f", f, path), command(t, "export", "-f", f, path)
			if !bytes.Equal(a, b) {
				t.Errorf("%s: not the same twice", f)
			}
		}
	})
}

package stacks

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// number reads a number from the environment, to make a test larger than it usually is.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// record runs a program under heaptap and returns what it printed, and its recording, dir/run.htap.
func record(t *testing.T, dir string, env []string, args ...string) ([]byte, *recording.Reader) {
	t.Helper()
	return recordWith(t, dir, env, nil, args...)
}

// recordWith is record with flags for heaptap run.
func recordWith(t *testing.T, dir string, env, flags []string, args ...string) ([]byte, *recording.Reader) {
	t.Helper()
	stdout, r := kit.Command{Env: env}.RecordTo(t, filepath.Join(dir, "run.htap"), flags, args...)
	return []byte(stdout), r
}

// pathOf returns the addresses of a call stack, leaf first, and whether its root is missing.
func pathOf(r *recording.Reader, stack uint32) (addresses []uint64, truncated bool, err error) {
	for id := stack; id != 0; {
		node, ok := r.Nodes().Get(id)
		if !ok {
			return nil, false, fmt.Errorf("stack %d: there is no node %d", stack, id)
		}
		pc, ok := r.PCs().Get(node.PC)
		if !ok {
			return nil, false, fmt.Errorf("stack %d: there is no pc %d", stack, node.PC)
		}
		addresses = append(addresses, pc.Addr)
		truncated = node.Truncated
		id = node.Parent
	}
	return addresses, truncated, nil
}

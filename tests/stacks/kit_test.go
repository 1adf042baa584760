package stacks

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/programs"
)

var (
	kitOnce sync.Once
	kitDir  string
	heaptap string
	kitErr  error
)

func TestMain(m *testing.M) {
	status := m.Run()
	if kitDir != "" {
		os.RemoveAll(kitDir)
	}
	os.Exit(status)
}

// heaptapBinary builds heaptap once; HEAPTAP_BINARY names an existing one.
func heaptapBinary(t *testing.T) string {
	t.Helper()
	kitOnce.Do(func() {
		if kitDir, kitErr = os.MkdirTemp("", "heaptap-stacks-"); kitErr == nil {
			heaptap, kitErr = programs.BuildHeaptap(kitDir, os.Getenv("HEAPTAP_BINARY"))
		}
	})
	if kitErr != nil {
		t.Fatal(kitErr)
	}
	return heaptap
}

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

func compile(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// record runs a program under heaptap and returns what it printed, and its recording.
func record(t *testing.T, dir string, env []string, args ...string) ([]byte, *recording.Reader) {
	t.Helper()
	return recordWith(t, dir, env, nil, args...)
}

// recordWith is record with flags for heaptap run.
func recordWith(t *testing.T, dir string, env, flags []string, args ...string) ([]byte, *recording.Reader) {
	t.Helper()
	path := filepath.Join(dir, "run.htap")
	flags = append([]string{"run", "-o", path}, flags...)
	cmd := exec.Command(heaptapBinary(t), append(append(flags, "--"), args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("heaptap run %v: %v\n%s%s", args, err, stdout.Bytes(), stderr.Bytes())
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if h := r.Health(); !r.Complete() || h.LostEvents != 0 || h.TableFull != 0 || h.NoThread != 0 {
		t.Errorf("complete %v, health %+v", r.Complete(), h)
	}
	return stdout.Bytes(), r
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

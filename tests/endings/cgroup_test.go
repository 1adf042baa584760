package endings

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// cgroupHeadroom is what docs/guide.md says that a memory cgroup needs more if it holds the target, the recorder and
// run.
const cgroupHeadroom = 128 << 20

// memoryGroup makes a memory cgroup with a limit and returns a prefix that executes a command in it.
func memoryGroup(t *testing.T, limit int) []string {
	t.Helper()
	needRoot(t)
	parent, file := "/sys/fs/cgroup/memory", "memory.limit_in_bytes" // version 1
	if _, err := os.Stat(filepath.Join(parent, file)); err != nil {
		parent, file = "/sys/fs/cgroup", "memory.max"
	}
	dir, err := os.MkdirTemp(parent, "heaptap-endings-")
	if err != nil {
		t.Skipf("cannot make a memory cgroup: %v", err)
	}
	t.Cleanup(func() {
		kit.Until(t, "an empty cgroup", func() bool { return os.Remove(dir) == nil })
	})
	if err := os.WriteFile(filepath.Join(dir, file), []byte(fmt.Sprint(limit)), 0); err != nil {
		t.Skipf("cannot limit a memory cgroup: %v", err)
	}
	// Where there is swap it is not to help.
	_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0)
	_ = os.WriteFile(filepath.Join(dir, "memory.memsw.limit_in_bytes"), []byte(fmt.Sprint(limit)), 0)
	return []string{"sh", "-c", "echo $$ >" + dir + "/cgroup.procs && exec \"$@\"", "sh"}
}

// TestOutOfMemory has the kernel kill the target, the largest process of a memory cgroup that holds all there is of the
// run.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	ends := program(t, "ends")
	r := prepare(t, false, memoryGroup(t, 300<<20), nil, ends, "oom", "10000")
	kit.Same(t, "exit status", r.run(t), 128+9)
	if r.page[0].Bytes < 50<<20 {
		t.Errorf("the target had allocated no more than %d bytes", r.page[0].Bytes)
	}
	r.judge(t, 1)
}

// TestMemoryGroup gives a cgroup what the target needs and the headroom.
func TestMemoryGroup(t *testing.T) {
	t.Parallel()
	ends := program(t, "ends")
	for _, c := range [][]string{{"hold", "100"}, {"return", "300000"}, {"threads-exit", "30000"}} {
		t.Run(c[0], func(t *testing.T) {
			need := 110 << 20
			r := prepare(t, false, memoryGroup(t, need+cgroupHeadroom), nil, append([]string{ends}, c...)...)
			kit.Same(t, "exit status", r.run(t), 7)
			r.judge(t, map[string]uint64{"threads-exit": 3}[c[0]])
		})
	}
}

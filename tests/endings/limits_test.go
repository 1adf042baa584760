package endings

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// headroom is what docs/guide.md says that a limited address space needs more for the agent.
const headroom = 64 << 20

// TestAddressSpace limits the address space: with the headroom, the target behaves as without heaptap and is recorded.
// With hardly more than it needs itself, it may not be recorded, but runs.
func TestAddressSpace(t *testing.T) {
	t.Parallel()
	limits, ends := program(t, "limits"), program(t, "ends")
	under := func(limit int, args ...string) []string {
		return append([]string{limits, "as", fmt.Sprint(limit), ends}, args...)
	}
	for _, c := range [][]string{{"hold", "200"}, {"return", "30000"}, {"threads-exit", "10000"}} {
		t.Run(c[0]+c[1], func(t *testing.T) {
			most := 512
			least := sort.Search(most, func(mib int) bool {
				return prepare(t, true, nil, nil, under(mib<<20, c...)...).run(t) == 7
			})
			if least == most {
				t.Fatalf("does not run in %d MiB", most)
			}
			slack := map[string]uint64{"threads-exit": 3}[c[0]]
			recorded(t, 7, under(least<<20+headroom, c...)...).judge(t, slack)
			if c[0] != "return" {
				return // the others fill whatever space they have
			}
			for mib := least; mib <= least+8; mib++ {
				kit.Same(t, fmt.Sprintf("exit status in %d MiB", mib),
					prepare(t, false, nil, nil, under(mib<<20, c...)...).run(t), 7)
			}
		})
	}
}

// TestLowers has programs limit their own address space while they run: what the agent takes of it then is no more than
// at the start, in every mode, whichever function calls the kernel, and whatever else grows at that moment.
func TestLowers(t *testing.T) {
	t.Parallel()
	lowers := program(t, "lowers")
	for _, how := range []string{"setrlimit", "prlimit", "threads", "vfork", "forks"} {
		t.Run(how, func(t *testing.T) {
			least := 1 + sort.Search(512, func(mib int) bool {
				return prepare(t, true, nil, nil, lowers, how, fmt.Sprint(mib+1)).run(t) == 7
			})
			if least > 512 {
				t.Fatal("does not run in 512 MiB")
			}
			args := []string{lowers, how, fmt.Sprint(least + headroom>>20)}
			recorded(t, 7, args...).judge(t, 0)
			for _, mode := range []string{"sampled", "count", "off"} {
				kit.Same(t, "exit status in mode "+mode,
					prepare(t, false, nil, []string{"--mode", mode}, args...).run(t), 7)
			}
		})
	}
}

// TestBlocked leaves the spool's mappings no room behind them: they grow elsewhere.
func TestBlocked(t *testing.T) {
	t.Parallel()
	r := prepare(t, false, nil, nil, program(t, "blocked"), "64")
	kit.Same(t, "exit status", r.run(t), 7)
	r.judge(t, 0)
}

// TestShellLowers has a shell and an interpreter do the same.
func TestShellLowers(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"bash", "-c", "ulimit -v 200000; echo $(ls / | wc -l) $(ulimit -v); exit 7"},
		{"/usr/bin/python3", "-c", "import resource; resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20));" +
			"x = [bytearray(1000) for i in range(20000)]; import json, decimal; " +
			"print(len(json.dumps(list(range(20000))))); exit(7)"},
	} {
		for _, mode := range []string{"exact", "sampled", "count", "off"} {
			bare, r := prepare(t, true, nil, nil, args...), prepare(t, false, nil, []string{"--mode", mode}, args...)
			kit.Same(t, "exit status without heaptap", bare.run(t), 7)
			kit.Same(t, args[0]+" in mode "+mode, r.run(t), 7)
			kit.Same(t, args[0]+"'s output", r.stdout.String(), bare.stdout.String())
			kit.Same(t, args[0]+"'s standard error", r.stderr.String(), bare.stderr.String())
		}
	}
}

// TestFileSize limits the size of files: the agent's spool never makes it a signal, and is smaller or not there.
func TestFileSize(t *testing.T) {
	t.Parallel()
	limits, ends := program(t, "limits"), program(t, "ends")
	for _, limit := range []int{64 << 20, 1 << 20, 0} {
		t.Run(fmt.Sprint(limit>>20, " MiB"), func(t *testing.T) {
			r := prepare(t, false, nil, nil, limits, "fsize", fmt.Sprint(limit), ends, "return", "30000")
			kit.Same(t, "exit status", r.run(t), 7)
			aside := strings.Count(r.stderr.String(), "1 of the executed programs ran unrecorded")
			if limit >= 16<<20 {
				r.judge(t, 0)
				kit.Same(t, "reported as unrecorded", aside, 0)
			} else {
				kit.Same(t, "reported as unrecorded", aside, 1)
			}
		})
	}
}

// TestFiles leaves the target one descriptor to open.
func TestFiles(t *testing.T) {
	t.Parallel()
	recorded(t, 7, program(t, "limits"), "nofile", "4", program(t, "ends"), "return", "30000").judge(t, 0)
}

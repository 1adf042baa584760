package sampled

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// TestControlled switches a program of four busy threads from sampled to exact and back, again and again, by heaptap
// ctl. It counts for itself: what it does while the mode is exact must be in the recording to the last call and block;
// what was allocated in either mode must be seen freed in the other; and the estimate of all that it allocates must be
// what it is.
func TestControlled(t *testing.T) {
	t.Parallel()
	phases, file := kit.Compile(t, "gcc", "-O1", "src/phases.c"), filepath.Join(t.TempDir(), "phases.htap")
	cmd := exec.Command(kit.Binary(t), "run", "-q", "--mode", "sampled", "--sample", "4K", "-o", file, phases)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	say := func() string {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the program has ended: %v", lines.Err())
		}
		return lines.Text()
	}
	pid := say()
	maps, _ := os.ReadFile("/proc/" + pid + "/maps")
	s := openSpool(t, filepath.Dir(regexp.MustCompile(`/\S*\.spool`).FindString(string(maps))))
	if s == nil {
		t.Fatalf("no spool is mapped: %s", maps)
	}
	ctl := func(mode string) {
		t.Helper()
		kit.Heaptap(t, "ctl", pid, "mode", mode)
		kit.Until(t, "the process follows", s.followed)
	}
	const switches = 20
	for range switches {
		ctl("exact")
		fmt.Fprintln(in, 400)
		if line := say(); line != "done" {
			t.Fatal(line)
		}
		ctl("sampled")
	}
	_ = in.Close()
	var calls, kept, churned uint64
	if _, err := fmt.Sscan(say(), &calls, &kept, &churned); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}

	type counts struct{ Allocations, Deallocations, Leaked uint64 }
	got := map[string]counts{}
	report := kit.JSON[struct {
		Totals struct {
			Unmatched uint64 `json:"unmatched_deallocations"`
		}
		Marks  []struct{ Name string }
		Stacks []struct {
			Allocations, Deallocations uint64
			Leaked                     uint64 `json:"leaked_blocks"`
			Frames                     []int
		}
		Frames []struct{ Function string }
	}](t, "report", "--json", file)[0]
	for _, s := range report.Stacks {
		if len(s.Frames) > 0 {
			leaf := report.Frames[s.Frames[0]].Function
			c := got[leaf]
			got[leaf] = counts{c.Allocations + s.Allocations, c.Deallocations + s.Deallocations,
				c.Leaked + s.Leaked}
		}
	}
	changes := 0
	for _, m := range report.Marks {
		if strings.HasPrefix(m.Name, "mode ") {
			changes++
		}
	}
	if changes != 2*switches || calls != switches*4*400 {
		t.Errorf("%d changes of mode, %d calls", changes, calls)
	}
	if want := (counts{calls, calls - kept, kept}); got["site"] != want {
		t.Errorf("while the mode was exact: %+v, want %+v", got["site"], want)
	}
	if c := got["churn"]; c.Leaked != 0 || c.Allocations != c.Deallocations || report.Totals.Unmatched != 0 {
		t.Errorf("allocated in either mode: %+v, of which all was freed; %d deallocations were taken for wrong ones", c,
			report.Totals.Unmatched)
	}
	off := float64(got["churn"].Allocations)/float64(churned) - 1
	t.Logf("%d allocations, the estimate is %.2f %% off", churned, 100*off)
	if math.Abs(off) > 0.02 {
		t.Errorf("%d allocations estimated, of %d", got["churn"].Allocations, churned)
	}
}

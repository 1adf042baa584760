package sampled

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/programs"
)

// TestControlled switches a program of four busy threads from sampled to exact and back, again and again, by heaptap ctl. It counts for
// itself: what it does while the mode is exact must be in the recording to the last call and block; what was allocated in either mode must
// be seen freed in the other; and the estimate of all that it allocates must be what it is.
func TestControlled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	heaptap, err := programs.BuildHeaptap(dir, os.Getenv("HEAPTAP_BINARY"))
	if err != nil {
		t.Fatal(err)
	}
	phases, file := filepath.Join(dir, "phases"), filepath.Join(dir, "phases.htap")
	if out, err := exec.Command("gcc", "-O1", "-g", "-pthread", "-fno-builtin", "-o", phases, "src/phases.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc (make test installs it): %v\n%s", err, out)
	}
	cmd := exec.Command(heaptap, "run", "-q", "--mode", "sampled", "--sample", "4K", "-o", file, phases)
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
	ctl := func(mode string) {
		t.Helper()
		if out, err := exec.Command(heaptap, "ctl", pid, "mode", mode).CombinedOutput(); err != nil {
			t.Fatalf("heaptap ctl %s mode %s: %v\n%s", pid, mode, err, out)
		}
		time.Sleep(100 * time.Millisecond) // the next event of any thread follows
	}
	const switches = 20
	for range switches {
		ctl("exact")
		fmt.Fprintln(in, 400)
		if s := say(); s != "done" {
			t.Fatal(s)
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
	text, err := exec.Command(heaptap, "report", "--json", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Totals struct {
			Unmatched uint64 `json:"unmatched_deallocations"`
		}
		Marks  []struct{ Name string }
		Stacks []struct {
			Allocations, Deallocations uint64
			Leaked                     uint64 `json:"leaked_blocks"`
			Frames                     []struct{ Function string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for _, s := range report.Stacks {
		if len(s.Frames) > 0 {
			c := got[s.Frames[0].Function]
			got[s.Frames[0].Function] = counts{c.Allocations + s.Allocations, c.Deallocations + s.Deallocations, c.Leaked + s.Leaked}
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
		t.Errorf("allocated in either mode: %+v, of which all was freed; %d deallocations were taken for wrong ones", c, report.Totals.Unmatched)
	}
	off := float64(got["churn"].Allocations)/float64(churned) - 1
	t.Logf("%d allocations, the estimate is %.2f %% off", churned, 100*off)
	if math.Abs(off) > 0.02 {
		t.Errorf("%d allocations estimated, of %d", got["churn"].Allocations, churned)
	}
}

package record

import (
	"os/exec"
	"testing"
	"time"
)

// TestReady: a process that begins as soon as the recorder says that it is ready, and has not made a spool yet, is
// waited for.
func TestReady(t *testing.T) {
	t.Parallel()
	dir := runDir(t)
	config, reps, _ := testConfig(t, dir)
	var began time.Time
	config.Report = func(r Report) {
		reps.add(r)
		if r.Kind != Ready {
			return
		}
		child := exec.Command("sleep", "0.5")
		child.Env = []string{"HEAPTAP_RUN=" + dir}
		if err := child.Start(); err != nil {
			t.Error(err)
			return
		}
		began = time.Now()
		go child.Wait()
	}
	if err := Run(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if list := reps.list; len(list) == 0 || list[0].Kind != Ready {
		t.Errorf("the first report is not Ready: %+v", list)
	}
	if d := time.Since(began); d < 400*time.Millisecond {
		t.Errorf("the run was over %v after a process that belongs to it began", d)
	}
}

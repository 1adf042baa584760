package record

import (
	"time"

	"github.com/heaptap/heaptap/internal/record/procs"
)

// mainProcess is the process that was started, whatever images it executes.
type mainProcess struct {
	started <-chan int    // see Config.Main
	ended   <-chan Status // see Config.MainEnded; nil: it will not be known how the process ended
	known   bool          // started has delivered, or never will
	pid     int
	life    *procs.Life
	over    bool
	endedAt time.Time // when that was noticed
	status  *Status
}

// statusPatience is how long the recorder waits to hear how the main process ended: run may be stopped, and a run that
// was stopped may have to catch up on a busy machine. A run that has died is not waited for.
const statusPatience = 30 * time.Second

// begun returns the main process, once, when it has become known.
func (m *mainProcess) begun() *procs.Life {
	if m.known {
		return nil
	}
	select {
	case pid, ok := <-m.started:
		m.known = true
		if ok && pid > 0 {
			m.pid, m.life = pid, procs.Started(pid)
			return m.life
		}
	default:
	}
	return nil
}

// hasEnded says, once, that the main process has ended, or that there is none.
func (m *mainProcess) hasEnded() bool {
	if !m.known || m.over {
		return false
	}
	m.takeStatus()
	if m.life != nil && m.status == nil && !m.life.Exited() {
		return false
	}
	m.over, m.endedAt = true, time.Now()
	return true
}

func (m *mainProcess) takeStatus() {
	if m.status != nil || m.ended == nil {
		return
	}
	select {
	case st, ok := <-m.ended:
		if ok {
			m.status = &st
		} else {
			m.ended = nil
		}
	default:
	}
}

// statusSince returns how the process ended, which was noticed at a moment. ok is false while that may still come.
func (m *mainProcess) statusSince(since time.Time) (st Status, ok bool) {
	m.takeStatus()
	if m.status != nil {
		return *m.status, true
	}
	return st, m.ended == nil || time.Since(since) > statusPatience
}

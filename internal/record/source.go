package record

import (
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
)

// source is a spool as the drain sees it.
type source struct {
	spool   *spool.Spool
	reader  *spool.Reader
	sink    sink
	w       *worker
	peers   procs.Peers
	members []*member // by slot
	known   uint32    // processes that are known
	number  uint64    // of rounds
	inode   uint64
	pid     int  // of the process that made the spool; 0: what the spool says is not known to be true
	guest   bool // the spool is one that the door has given out
	dead    bool // all of its processes have ended, and the worker knows
	idle    int  // rounds in a row in which nothing happened
	bad     int  // rounds that failed in a row
	closed  bool
	main    bool // made by the main process

	unwatched bool // the end of one of its processes does not wake the drain
	deadSince time.Time

	modeNumber uint32        // of the latest change of mode that was noticed
	modeBefore uint8         // the latest mode that was not off; 0: none was seen
	sent       atomic.Uint64 // number, for anybody to read
}

// member is a process that writes to a spool, and what its worker knows about it.
type member struct {
	*procs.Life
	layout  *sampler.Layout
	sampled *sampler.Process // or nil
	over    bool             // that it has ended
	partial bool             // that not every allocation is recorded
}

// done says whether the worker has finished.
func (o *source) done() bool {
	select {
	case <-o.w.done:
		return true
	default:
		return false
	}
}

// pending says whether a process has ended whose recording is not finished.
func (o *source) pending() bool {
	ended := 0
	for _, m := range o.members {
		if m.Gone {
			ended++
		}
	}
	return int(o.w.finished.Load()) < ended
}

// ending says whether a process has ended and the worker does not know.
func (o *source) ending() bool {
	for _, m := range o.members {
		if m.Gone && !m.over {
			return true
		}
	}
	return false
}

// processes returns what the worker has to know of processes that have appeared.
func (o *source) processes() (news []message) {
	list, _ := o.reader.Processes(o.known)
	for _, p := range list {
		if p.Slot > 1<<20 {
			break
		}
		o.known = p.Slot + 1
		l := o.peers.Add(p.PID, p.Parent, p.Random)
		o.unwatched = o.unwatched || !o.sink.run.alarm.WatchEnd(l) || !l.Verified
		m := &member{Life: l, layout: new(sampler.Layout)}
		o.members = append(o.members, m)
		o.dead, o.deadSince = false, time.Time{}
		news = append(news, &processBegan{p, m.layout})
	}
	return append(news, o.partials()...)
}

// sendEndings sends the processes that had ended before this round, which therefore has taken their last records.
func (o *source) sendEndings(r *run) {
	alive := false
	for slot, m := range o.members {
		switch {
		case m.over:
		case m.Gone && o.more(uint32(slot)):
			alive = true
		case m.Gone:
			status, known := r.statusOf(o, uint32(slot), m.GoneAt)
			if !known {
				alive = true
				continue
			}
			m.over = true
			r.sampler.Remove(m.sampled)
			m.Close()
			o.sink.add(&processEnded{uint32(slot), status, m.When})
		default:
			alive = true
		}
	}
	o.dead = !alive && len(o.members) > 0
}

// statusOf is how a process has ended that is gone: the target as heaptap has seen it, others as the kernel says, or
// else as they have said themselves. A process that executes another program by now has not ended. known is false while
// the target's status, which is waited for since a moment, may still come, or the news that this is the target: a short
// program ends before it.
func (r *run) statusOf(o *source, slot uint32, since time.Time) (status Status, known bool) {
	m := o.members[slot]
	known = true
	switch {
	case slot == 0 && !r.main.known && time.Since(since) < statusPatience:
		return Status{}, false
	case m.Replaced:
		return Status{}, true
	case o.main && slot == 0:
		status, known = r.mainStatus(since)
	default:
		if s, ok := m.Status(); ok {
			status = Status{Exited: s.Exited(), Code: max(0, s.ExitStatus()), Signal: max(0, int(s.Signal()))}
		} else if code, ok := o.reader.ExitStatus(slot); ok {
			status = Status{Exited: true, Code: code}
		}
	}
	status.MaxRSS = max(status.MaxRSS, o.reader.MaxRSS(slot))
	return status, known
}

// more says whether a stream of the process was not read to its end.
func (o *source) more(slot uint32) bool { return o.reader.Open(slot) && o.bad == 0 }

// partials are messages about the processes of which from now on not every allocation is recorded.
func (o *source) partials() (list []message) {
	for slot, m := range o.members {
		if !m.partial && !m.over && o.reader.Partial(uint32(slot)) {
			m.partial = true
			list = append(list, &processPartial{uint32(slot)})
		}
	}
	return list
}

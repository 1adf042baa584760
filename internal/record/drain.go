package record

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/record/procs"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
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
	pid     int  // of the process that made the spool; 0: what it says of itself is not known to be true
	guest   bool // the spool is one that the door has given out
	dead    bool // all of its processes have ended and were told to the worker
	idle    int  // rounds in a row in which nothing happened
	bad     int  // rounds that failed in a row
	closed  bool
	main    bool // made by the main process

	unwatched bool // of a process of it, nobody tells when it ends
	deadSince time.Time

	modeNumber uint32        // of the latest change of mode that was noticed
	modeBefore uint8         // the latest mode that was not off; 0: none was seen
	sent       atomic.Uint64 // number, for anybody to read
}

// member is a process that writes to a spool, and what its worker was told about it.
type member struct {
	*procs.Life
	layout  *sampler.Layout
	sampled *sampler.Process // or nil
	over    bool             // that it has ended
	partial bool             // that not every allocation is recorded
}

// scanSpools opens the spools that have appeared in the run's folder.
func (r *run) scanSpools() {
	// A folder's time changes with what is in it; one that changed just now may change again without showing it.
	st, err := r.folder.Stat()
	if err != nil || st.ModTime().Equal(r.folderTime) && !r.unready {
		return
	}
	r.unready = time.Since(st.ModTime()) < 50*time.Millisecond
	r.folderTime = st.ModTime()
	names, err := r.folder.Names()
	if err != nil {
		return
	}
	// In the order in which they were made: of recordings that would get the same name, the first image's gets it.
	slices.SortFunc(names, compareMade)
	for _, name := range names {
		if !strings.HasSuffix(name, ".spool") || r.seen[name] {
			continue
		}
		s, err := spool.OpenIn(r.folder, name, r.config.SpillDir)
		if errors.Is(err, spool.ErrNotReady) || errors.Is(err, os.ErrNotExist) {
			r.unready = true
			continue
		}
		r.seen[name] = true
		if err != nil {
			r.report(Report{Kind: Note, Err: err, Text: err.Error()})
			continue
		}
		r.open(s)
	}
}

// compareMade orders spools, PID-COUNTER.spool with a hexadecimal timestamp, by their age.
func compareMade(a, b string) int {
	_, ca, _ := strings.Cut(a, "-")
	_, cb, _ := strings.Cut(b, "-")
	if len(ca) != len(cb) {
		return len(ca) - len(cb)
	}
	return strings.Compare(ca, cb)
}

// open begins to drain a spool.
func (r *run) open(s *spool.Spool) {
	info := s.Info()
	pid, user := info.PID, info.Owner
	guestPID, guestUser, guest := r.door.Guest(filepath.Base(s.Path()))
	if guest {
		if user = guestUser; guestPID != pid {
			pid = 0 // in another namespace its id is another one; or it claims to be another process
		}
	}
	// A process that makes another spool has executed another image.
	for _, o := range r.sources {
		for _, m := range o.members {
			if !m.over && m.PID == pid {
				m.Replaced = true
			}
		}
	}
	main := r.mainPID != 0 && pid == r.mainPID
	o := &source{spool: s, reader: s.Reader(), inode: info.Inode, pid: pid, guest: guest, main: main}
	o.w = r.newWorker(s, main)
	o.w.user = user
	o.w.counter0, o.w.mono0 = clock.Pair()
	o.sink = sink{run: r, w: o.w}
	mode, number := s.Mode()
	if o.modeNumber = number; mode != wire.ModeOff {
		o.modeBefore = mode
	}
	s.Attach(os.Getpid())
	r.sources = append(r.sources, o)
	r.opened++
	r.images[info.PID]++
	r.workers.Go(o.w.serve)
}

// barrier makes sure that what a writer does not show after it, bears a timestamp later than a clock that was read
// before it.
func (r *run) barrier() {
	all := true
	for _, o := range r.sources {
		all = all && o.spool.Info().Barrier
	}
	const global, globalExpedited = 1 << 0, 1 << 1
	if all && r.expedited {
		if _, _, e := unix.Syscall(unix.SYS_MEMBARRIER, globalExpedited, 0, 0); e == 0 {
			return
		}
		r.expedited = false
	}
	if r.global {
		if _, _, e := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); e == 0 {
			return
		}
		r.global = false
	}
	// A store leaves its core within microseconds, whatever else happens.
	time.Sleep(time.Millisecond)
}

// round looks at all streams of all spools once and returns how many bytes of records it took.
func (r *run) round() (moved int64, freed int) {
	if len(r.sources) == 0 {
		return 0, 0
	}
	now, at := clock.Now(), time.Now()
	r.barrier()
	var counter, mono uint64
	if time.Since(r.paired) > 20*time.Millisecond {
		r.paired = time.Now()
		counter, mono = clock.Pair()
	}
	for _, o := range r.sources {
		if o.closed {
			continue
		}
		o.spool.Beat()
		err := o.reader.Round(&o.sink, func(slot uint32) bool {
			return slot < uint32(len(o.members)) && o.members[slot].Gone
		})
		if err != nil {
			o.bad++
			if o.bad == 1 {
				o.sink.add(&noteAdded{err.Error()})
			}
		} else {
			o.bad = 0
		}
		o.watchMode()
		moved += o.reader.Moved
		freed += o.reader.Freed
		began := o.processes()
		if o.reader.Moved == 0 && len(o.reader.Busy)+len(o.sink.list)+len(began) == 0 {
			// One more round makes what came last final. After that there is little to say.
			if o.idle++; o.idle > 1 && o.idle%idleRounds != 0 && !o.ending() {
				continue
			}
		} else {
			o.idle = 0
		}
		o.number++
		o.sent.Store(o.number)
		rd := &roundEnded{number: o.number, clock: now, at: at, counter: counter, mono: mono}
		for _, st := range o.reader.Busy {
			rd.busy = append(rd.busy, o.sink.stream(st))
		}
		o.sink.add(rd)
		// Now: a stream that was found may be of a process that has just appeared. The worker needs to know that first.
		o.w.queue.push(began...)
		for _, b := range began {
			if b, ok := b.(*processBegan); ok {
				m := o.members[b.info.Slot]
				if m.Verified && !o.guest {
					r.family.Add(m.PID)
				}
				r.beginSampling(m, readings{o.w, b.info.Slot})
			}
		}
		o.endings(r)
		o.sink.push()
	}
	return moved, freed
}

// idleRounds is how many rounds with nothing in them are told as one.
const idleRounds = 10

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
		o.unwatched = o.unwatched || !o.sink.run.alarm.watchEnd(l) || !l.Verified
		m := &member{Life: l, layout: new(sampler.Layout)}
		o.members = append(o.members, m)
		o.dead, o.deadSince = false, time.Time{}
		news = append(news, &processBegan{p, m.layout})
	}
	return append(news, o.partials()...)
}

// endings tells the worker of processes that had ended before this round, which therefore has taken their last records.
func (o *source) endings(r *run) {
	alive := false
	for slot, m := range o.members {
		switch {
		case m.over:
		case m.Gone && o.more(uint32(slot)):
			alive = true
		case m.Gone:
			status := Status{}
			if o.main && slot == 0 && !m.Replaced {
				var ok bool
				if status, ok = r.mainStatus(m.GoneAt); !ok {
					alive = true
					continue
				}
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

// more says whether a stream of the process was not read to its end.
func (o *source) more(slot uint32) bool { return o.reader.Open(slot) && o.bad == 0 }

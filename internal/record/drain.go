package record

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/spool"
	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// Pace of the drain. A chunk pool is about 4 MiB, and an agent wakes the drain once half of it is full; the less is in
// it, the more of it stays in the target's cache. A round costs as much as some thousand events.
const (
	napBusy    = time.Millisecond
	napIdle    = 5 * time.Millisecond
	napFlow    = 50 * time.Millisecond // while agents can wake the drain
	napAsleep  = 50 * time.Millisecond // an agent short of chunks wakes the drain, and gives up on it after 200 ms
	napDeep    = time.Second           // where all that matters wakes the drain
	roundBytes = 512 << 10             // a round that takes more came too late, one that takes half of it too early
	trickle    = 4 << 10               // bytes in a round that are no reason to be quick
	scanBusy   = 5 * time.Millisecond
	scanIdle   = 50 * time.Millisecond
	lifeBusy   = 10 * time.Millisecond
	lifeIdle   = 50 * time.Millisecond
)

// drain looks at the spools, again and again, until the run is over.
func (r *run) drain(ctx context.Context) {
	var scanned, lived, moved, flowed, next time.Time
	live := make([]*spool.Spool, 0, 16)
	nap := napIdle
	for ctx.Err() == nil {
		now := time.Now()
		idle := now.Sub(moved) > time.Second
		scan, life := scanBusy, lifeBusy
		if idle {
			scan, life = scanIdle, lifeIdle
		}
		if now.Sub(scanned) >= scan {
			scanned = now
			r.scanSpools()
		}
		r.checkMain()
		if now.Sub(lived) >= life || r.main.over && r.settledAt == 0 {
			lived = now
			r.checkLives(now)
		}
		if r.main.over && !r.lookedLast {
			// The image that it executed last may have a spool that is not known yet.
			r.lookedLast, r.folderTime = true, time.Time{}
			r.scanSpools()
		}
		r.handleRequests()
		r.setMarks(now)
		n, freed := r.round()
		flows := n > trickle || freed > 0 // many short-lived threads need a chunk each
		if flows || n > 0 && idle {
			r.sampler.Rouse()
		}
		if n > 0 {
			moved = now
		}
		if flows {
			flowed = now
		}
		r.reapSpools()
		if r.over(now) {
			return
		}
		// At once, if no process is left; else others may be about to make spools.
		late := now.Sub(r.main.endedAt) > 100*time.Millisecond
		if r.main.over && now.After(next) && (r.settledAt == 0 && r.alone() || late) {
			next = now.Add(200 * time.Millisecond)
			if !r.reportSettled() { // heaptap run waits for it
				next = now.Add(napBusy)
			}
		}
		switch {
		case r.main.over && r.settledAt == 0 && now.Sub(r.main.endedAt) < time.Second:
			nap = napBusy
		case n >= roundBytes:
			nap = max(nap/2, napBusy)
		case n > roundBytes/2:
		case flows && !r.alarm.Deaf():
			nap = min(max(nap*2, napBusy), napFlow)
		case flows:
			nap = min(max(nap*2, napBusy), napIdle)
		default:
			nap = min(max(nap*2, napBusy), r.longestNap(now, moved, flowed))
		}
		live = live[:0]
		for _, o := range r.sources {
			if !o.closed {
				live = append(live, o.spool)
			}
		}
		r.alarm.Wait(live, nap)
	}
	// The recorder is to end: what is there now is kept.
	r.checkMain()
	r.round()
}

// longestNap is how long the drain may sleep when there is little to do. moved is when anything was last moved, flowed
// when it was more than a trickle.
func (r *run) longestNap(now, moved, flowed time.Time) time.Duration {
	unready := r.unready && now.Sub(r.folderTime) < time.Second
	switch {
	case now.Sub(flowed) < time.Second || unready || r.main.over && r.settledAt == 0:
		return napIdle
	case now.Sub(moved) < 5*time.Second || !r.alarm.Watched() || r.unready:
		return napAsleep
	}
	for _, o := range r.sources {
		if o.closed || o.dead || o.unwatched {
			return napAsleep
		}
	}
	nap := napDeep
	if every := r.config.MarkEvery; every > 0 {
		nap = min(nap, max(napIdle, every-now.Sub(r.markedAt)))
	}
	if r.config.Flush > 0 { // the recording is being read
		nap = min(nap, max(napIdle, r.config.Flush))
	}
	return nap
}

// scanSpools opens the spools that have appeared in the run's folder.
func (r *run) scanSpools() {
	// A folder's time changes with what is in it; one that changed just now may change again without showing it.
	changed, err := r.folder.Changed()
	if err != nil || changed.Equal(r.folderTime) && !r.unready {
		return
	}
	r.unready = time.Since(changed) < 50*time.Millisecond
	r.folderTime = changed
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
	main := r.main.pid != 0 && pid == r.main.pid
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

// barrier makes sure that all that a writer shows only after it has a timestamp later than a clock reading taken before
// it.
func (r *run) barrier() {
	all := true
	for _, o := range r.sources {
		all = all && o.spool.Info().Barrier
	}
	const global, globalExpedited = 1 << 0, 1 << 1
	if all && r.expedited {
		if _, _, e := unix.RawSyscall(unix.SYS_MEMBARRIER, globalExpedited, 0, 0); e == 0 {
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
			// One more round makes what came last final. After that, few rounds are sent.
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
		// Before the streams: one of them may be of a process that has just appeared.
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
		o.sendEndings(r)
		o.sink.push()
	}
	return moved, freed
}

// idleRounds is how many rounds with nothing in them are sent as one.
const idleRounds = 10

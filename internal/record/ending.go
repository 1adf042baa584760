package record

import (
	"slices"
	"time"
)

// over says whether the run is.
func (r *run) over(now time.Time) bool {
	if !r.main.over {
		return false
	}
	open := false
	for _, o := range r.sources {
		if !o.closed {
			open = true
			r.quietFrom = o.lastWriter(now, r.quietFrom)
		}
	}
	return !open && r.quiet(r.quietFrom)
}

// lastWriter returns since when no known process writes to a spool, or since, if that is later. The looks at all
// processes that let the spool be closed have begun then, and would have seen whoever may make another one: the run's
// end needs no others.
func (o *source) lastWriter(now, since time.Time) time.Time {
	switch {
	case !o.dead || o.deadSince.IsZero():
		return now
	case o.deadSince.After(since):
		return o.deadSince
	}
	return since
}

// quiet says whether two looks since a moment have found no process that writes to a spool or may make one, and no
// process has made one and ended between the looks.
func (r *run) quiet(since time.Time) bool {
	if !r.census.Quiet(since) {
		return false
	}
	opened := r.opened
	r.folderTime = time.Time{}
	r.scanSpools()
	return r.opened == opened
}

// alone says whether all processes of the run are known to have ended. Before their workers know it, too, nothing is
// settled: looks that begin earlier would have to be repeated, see over.
func (r *run) alone() bool {
	since := r.main.endedAt
	for _, o := range r.sources {
		if !o.closed && (!o.dead || o.deadSince.IsZero()) {
			return false
		}
		since = o.lastWriter(since, since)
	}
	return r.quiet(since)
}

// reportSettled reports what is still going on, once the main process has ended. false: that is not known yet.
func (r *run) reportSettled() bool {
	var running []int
	busy := false
	for _, o := range r.sources {
		for _, m := range o.members {
			switch {
			case m.Gone:
			case m.Verified || o.closed:
				running = append(running, m.PID)
			default:
				// Its id may be another process's here. It runs if it was seen with the spool mapped since the
				// main process's end; else it has ended, or will be seen.
				seen := r.census.Mappers(o.inode, r.main.endedAt)
				running = append(running, seen...)
				busy = busy || len(seen) == 0
			}
		}
		if o.dead && !o.closed {
			// A process that was forked and has had no event is in no table. Either a look shows it, or the look
			// lets the spool be closed.
			seen := r.census.Mappers(o.inode, o.deadSince)
			running = append(running, seen...)
			busy = busy || len(seen) == 0
		}
		busy = busy || o.closed && !o.done() || o.pending()
	}
	r.reportMissed()
	slices.Sort(running)
	running = slices.Compact(running)
	if !busy && (r.settledAt != r.opened+1 || !slices.Equal(running, r.settledRunning)) {
		r.settledAt, r.settledRunning = r.opened+1, running
		if len(running) == 0 && r.unit != nil {
			r.unit.Complete()
		}
		r.report(Report{Kind: Settled, Running: running, Seen: r.opened})
	}
	return !busy
}

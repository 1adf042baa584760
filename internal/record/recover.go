package record

import (
	"context"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/recording"
	unit "github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/wire"
)

// Recover completes the recordings of a spool whose recorder was killed, with what that has left in the run's folder,
// and removes the spool. Nobody must write to it any more. With an error, all that could not be recovered stays as it
// is.
func Recover(ctx context.Context, spoolPath string, config Config) error {
	config.inPlace = true
	dirs := []string{config.SpillDir}
	for _, s := range journal.ReadStates(spoolPath) {
		dirs = append(dirs, s.SpillDir)
	}
	if err := convert(ctx, spoolPath, config); err != nil {
		return err
	}
	journal.Clean(spoolPath, dirs)
	return nil
}

// resume prepares a conversion that continues where a recorder was killed. It returns the journal's contents.
func (r *run) resume(o *source, runDir string) (list []message, err error) {
	w := o.w
	// There may be a journal and no state: the recorder had not processed what it had drained.
	w.saved = journal.ReadStates(o.spool.Path())
	w.restored = map[uint64]*order.Stream{}
	if err := r.resumeUnit(w.saved); err != nil {
		return nil, err
	}
	dirs := []string{filepath.Dir(o.spool.SpillPath())}
	for _, s := range w.saved {
		if !slices.Contains(dirs, s.SpillDir) {
			dirs = append(dirs, s.SpillDir)
		}
		for uid, st := range s.Streams {
			w.restored[uid] = order.Resume(&st)
			o.reader.Seek(uid, st.At.Seq, st.At.Off)
		}
	}
	saved, err := journal.ReadPieces(runDir, dirs, o.spool.Info().Inode)
	if err != nil {
		return nil, err
	}
	arrived := &piecesArrived{}
	for _, uid := range slices.Sorted(maps.Keys(saved)) {
		pieces := saved[uid]
		s := w.restored[uid]
		if s == nil {
			first := journal.StreamState{Origin: pieces[0].Origin}
			first.At = journal.Position{Off: wire.ChunkHeaderSize}
			s = order.Resume(&first)
			w.restored[uid] = s
		}
		at := s.Position()
		for i := range pieces {
			p := &pieces[i]
			end := journal.Position{Seq: p.At.Seq, Off: p.At.Off + uint32(len(p.Data))}
			if !at.Before(end) {
				continue // it is in the recording
			}
			if p.At.Before(at) {
				p.Data = p.Data[at.Off-p.At.Off:]
				p.At = at
			}
			// What the agent had spilled in between is in its own file still.
			f, spilled, _ := o.reader.InSpill(uid, at.Seq, p.At.Seq)
			for _, c := range spilled {
				skip := 0
				if c.Seq == at.Seq {
					skip = int(at.Off) - wire.ChunkHeaderSize
				}
				if n := c.Bytes - skip; n > 0 {
					begin := journal.Position{Seq: c.Seq, Off: uint32(wire.ChunkHeaderSize + skip)}
					arrived.list = append(arrived.list, arrival{s, journal.InFile(f, c.Offset+int64(skip), n, begin)})
				}
			}
			arrived.list = append(arrived.list, arrival{s, journal.InMemory(p.Data, p.At)})
			at = end
		}
		o.reader.Seek(uid, at.Seq, at.Off)
	}
	if len(arrived.list) == 0 {
		return nil, nil
	}
	return []message{arrived}, nil
}

// restore makes a process what it was when its recorder was killed: from its recording, up to where the state says that
// it counts, and the addresses that the state has.
func (p *process) restore(s *journal.Saved) {
	old, err := unit.OpenRecording(s.Recording)
	if err != nil {
		if s.Events > 0 {
			p.Note("What the recorder had written before it was killed cannot be read: %v.", err)
		}
		return
	}
	defer old.Close()
	p.threads.restore(old.Threads(), s.Streams)
	p.stacks.Restore(old)
	for _, m := range old.Samples() {
		p.memory.sample(m)
	}
	for _, u := range old.StackUse() {
		p.memory.use(u, len(p.threads.list))
	}
	p.out.Resident(old.Resident())
	old.PageReadings().All(func(r *event.PageReading) bool {
		p.out.PageReading(*r)
		return true
	})
	p.endsAfter = lastReading(old)
	if old.Folded().Cut > 0 {
		p.restOf(old, s)
		return
	}
	p.notes.Restore(old, s.Events)
	live := map[uint64]event.Block{}
	funcs := map[uint64]event.Func{}
	latest := map[uint32]uint64{}
	var events, allocs uint64
	var full [1]event.Full
	batch := event.Batch{Full: full[:]}
	err = old.Events(func(e *event.Event) bool {
		if events == s.Events {
			return false
		}
		full[0] = event.Full{Event: *e, Allocs: allocs}
		events++
		p.order.Time = e.Time / recording.Quantum
		switch e.Kind {
		case event.Alloc:
			if addr := s.Born[allocs]; addr != 0 {
				live[allocs] = event.Block{Addr: addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: allocs,
					Born: e.Time / recording.Quantum, Func: e.Func, Sampled: e.Flags&event.Sampled != 0}
			}
			latest[e.Thread] = allocs
			funcs[allocs] = e.Func
			allocs++
		case event.Free:
			full[0].Ended = funcs[e.Ref]
			p.pairs.End(&full[0])
			delete(funcs, e.Ref)
			delete(live, e.Ref)
		}
		if e.Kind == event.Map {
			p.memory.set.Map(e)
		}
		p.out.Append(&batch)
		p.pools.Settle(&batch)
		return true
	})
	if err != nil || events < s.Events {
		p.Note("Of what the recorder had written before it was killed, %d events are missing.", s.Events-events)
		p.health.lost += s.Events - events
	}
	p.ledger.Restore(seqOf(live), allocs, latest, p.order.Time, s.Backings)
}

// lastReading returns the latest moment at which a dead recorder saw the process: its recording does not end before,
// though the last event may have come long before that.
func lastReading(old *recording.Reader) (last int64) {
	for _, s := range old.Samples() {
		last = max(last, s.Time)
	}
	for _, u := range old.StackUse() {
		last = max(last, u.Time)
	}
	for _, r := range old.Resident() {
		last = max(last, r.Time)
	}
	last = max(last, old.PageReadings().Summary().Last)
	for _, m := range old.Marks() {
		last = max(last, m.Time)
	}
	for _, n := range old.Regions() {
		last = max(last, n.Time)
	}
	for _, n := range old.Ranges() {
		last = max(last, n.Time)
	}
	return last
}

// restSuffix replaces that of a recording that cannot be continued, for the recording that holds the rest.
const restSuffix = ".rest.htap"

// folded reports whether events of a recording were folded. Then its live blocks are not known any more, and what comes
// next goes to a recording of its own; the old one stays as it is.
func folded(s *journal.Saved) bool {
	old, err := unit.OpenRecording(s.Recording)
	if err != nil {
		return false
	}
	defer old.Close()
	return old.Folded().Cut > 0
}

// restName is the name of the recording of the rest.
func restName(s *journal.Saved) string { return strings.TrimSuffix(s.Recording, ".htap") + restSuffix }

// restOf makes the process one that has gone on for a while, as the old recording says.
func (p *process) restOf(old *recording.Reader, s *journal.Saved) {
	_, last := old.Cuts()
	at, _ := old.TimeAt(last)
	p.order.Time = at / recording.Quantum
	p.ledger.Restore(seqOf(nil), 0, map[uint32]uint64{}, p.order.Time, s.Backings)
	p.Note("This is the rest of %s, whose recorder was killed after %.1f s: "+
		"deallocations of blocks from before count as unmatched.",
		filepath.Base(s.Recording), float64(at)/1e9)
	switch {
	case last > s.Events:
		p.Note("The last %d events of %s are the first of this recording, too.",
			last-s.Events, filepath.Base(s.Recording))
	case last < s.Events:
		p.Note("Between both, %d events are missing.", s.Events-last)
		p.health.lost += s.Events - last
	}
}

func seqOf(m map[uint64]event.Block) iter.Seq[event.Block] {
	return func(yield func(event.Block) bool) {
		for _, b := range m {
			if !yield(b) {
				return
			}
		}
	}
}

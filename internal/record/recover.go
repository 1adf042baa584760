package record

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/wire"
)

// Recover completes the recordings of a spool whose recorder was killed, with what that has left in the run's folder, and
// removes the spool. Nobody must write to it any more. With an error, all that could not be recovered stays as it is.
func Recover(ctx context.Context, spoolPath string, config Config) error {
	config.inPlace = true
	states := readStates(spoolPath)
	if err := convert(ctx, spoolPath, config); err != nil {
		return err
	}
	base := strings.TrimSuffix(filepath.Base(spoolPath), ".spool")
	list, _ := filepath.Glob(escapeGlob(strings.TrimSuffix(spoolPath, ".spool")) + ".*")
	dirs := map[string]bool{config.SpillDir: true}
	for _, s := range states {
		dirs[s.SpillDir] = true
	}
	for dir := range dirs {
		list = append(list, filepath.Join(dir, base+".spill"))
	}
	for _, f := range list {
		_ = os.Remove(f)
	}
	runDir := filepath.Dir(spoolPath)
	if more, _ := filepath.Glob(filepath.Join(escapeGlob(runDir), "*.spool")); len(more) > 0 {
		return nil // the journal is theirs, too
	}
	for dir := range dirs {
		for _, f := range pendingFiles(runDir, dir) {
			_ = os.Remove(f)
		}
	}
	_ = os.Remove(filepath.Join(runDir, journalName))
	return nil
}

func pendingFiles(runDir, dir string) []string {
	list, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "."+escapeGlob(filepath.Base(runDir))+"-*"+pendingSuffix))
	return list
}

// escapeGlob makes a name a pattern that only it matches.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// readStates reads what a recorder has left of a spool's processes, by slot.
func readStates(spoolPath string) map[uint32]*savedState {
	all := map[uint32]*savedState{}
	folder, err := private.BesideFolder(spoolPath)
	if err != nil {
		return all
	}
	defer folder.Close()
	names, _ := folder.Names()
	for _, name := range names {
		if !strings.HasPrefix(name, strings.TrimSuffix(filepath.Base(spoolPath), ".spool")+".") || !strings.HasSuffix(name, stateSuffix) {
			continue
		}
		if s, err := readState(folder, name); err == nil {
			all[s.Slot] = s
		}
	}
	return all
}

// savedPiece is a piece of the journal.
type savedPiece struct {
	origin
	data []byte
}

// readJournal reads what the journal of a run has of a spool, by stream and in order. Spill files of another version of heaptap are
// an error: what they hold is not to be lost.
func readJournal(runDir string, spillDirs []string, inode uint64) (map[uint64][]savedPiece, error) {
	all := map[uint64][]savedPiece{}
	add := func(o origin, data []byte) {
		if o.spool == inode {
			all[o.uid] = append(all[o.uid], savedPiece{o, data})
		}
	}
	folder, err := private.BesideFolder(filepath.Join(runDir, journalName))
	if err != nil {
		return nil, fmt.Errorf("cannot open the run's folder: %w", err)
	}
	defer folder.Close()
	if b, err := folder.Read(journalName); err == nil {
		for ; len(b) >= blockSize; b = b[blockSize:] {
			if binary.LittleEndian.Uint64(b) != journalMagic {
				continue
			}
			used := min(binary.LittleEndian.Uint64(b[8:]), blockSize)
			for at := uint64(journalStart); at+journalHeader <= used; {
				o, n, _, ok := decodeOrigin(b[at:])
				at += journalHeader
				if !ok || at+uint64(n) > used {
					break
				}
				add(o, b[at:at+uint64(n)])
				at += uint64(n+7) &^ 7
			}
		}
	}
	for _, dir := range spillDirs {
		for _, path := range pendingFiles(runDir, dir) {
			b, err := readOwned(path, folder.Owner())
			if err != nil {
				continue
			}
			for {
				o, n, packed, ok := decodeOrigin(b)
				if !ok || packed > len(b)-journalHeader {
					break
				}
				if v := packedForm(b); v != spill.Version && o.spool == inode {
					return nil, fmt.Errorf("%s holds events in form %d, and this heaptap knows form %d: "+
						"recover them with the version of heaptap that recorded them", path, v, spill.Version)
				}
				if data, err := spill.Decode(nil, b[journalHeader:journalHeader+packed], n); err == nil {
					add(o, data)
				}
				b = b[journalHeader+packed:]
			}
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b savedPiece) int {
			return cmp.Or(cmp.Compare(a.at.seq, b.at.seq), cmp.Compare(a.at.off, b.at.off))
		})
	}
	return all, nil
}

func readOwned(path string, owner uint32) ([]byte, error) {
	f, err := private.OpenOwned(path, owner)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// resume prepares a conversion that goes on from where a recorder was killed: it returns what the journal has.
func (r *run) resume(o *source, runDir string) (items []item, err error) {
	w := o.w
	// There may be a journal and no state: the recorder had not come to looking at what it had drained.
	w.saved = readStates(o.spool.Path())
	w.restored = map[uint64]*stream{}
	dirs := []string{filepath.Dir(o.spool.SpillPath())}
	for _, s := range w.saved {
		if !slices.Contains(dirs, s.SpillDir) {
			dirs = append(dirs, s.SpillDir)
		}
		for uid, st := range s.streams {
			w.restored[uid] = &stream{uid: uid, start: st.start, proc: st.proc, tid: st.tid, level: st.level, done: st.at,
				known: st.known, thread: st.thread}
			o.reader.Seek(uid, st.at.seq, st.at.off)
		}
	}
	journal, err := readJournal(runDir, dirs, o.spool.Info().Inode)
	if err != nil {
		return nil, err
	}
	uids := make([]uint64, 0, len(journal))
	for uid := range journal {
		uids = append(uids, uid)
	}
	slices.Sort(uids)
	for _, uid := range uids {
		list := journal[uid]
		s := w.restored[uid]
		if s == nil {
			f := &list[0]
			s = &stream{uid: uid, start: f.start, proc: f.proc, tid: f.tid, level: f.level, done: position{0, wire.ChunkHeaderSize}}
			w.restored[uid] = s
		}
		at := s.done
		for i := range list {
			p := &list[i]
			end := position{p.at.seq, p.at.off + uint32(len(p.data))}
			if !at.before(end) {
				continue // it is in the recording
			}
			if p.at.before(at) {
				p.data = p.data[at.off-p.at.off:]
				p.at = at
			}
			// What the agent had spilled in between is in its own file still.
			f, spilled, _ := o.reader.InSpill(uid, at.seq, p.at.seq)
			for _, c := range spilled {
				skip := 0
				if c.Seq == at.seq {
					skip = int(at.off) - wire.ChunkHeaderSize
				}
				if n := c.Bytes - skip; n > 0 {
					items = append(items, item{kind: itemPiece, stream: s, piece: piece{raw: f, at: c.Offset + int64(skip), full: n,
						seq: c.Seq, off: uint32(wire.ChunkHeaderSize + skip)}})
				}
			}
			items = append(items, item{kind: itemPiece, stream: s, piece: piece{data: p.data, full: len(p.data), seq: p.at.seq, off: p.at.off}})
			at = end
		}
		o.reader.Seek(uid, at.seq, at.off)
	}
	return items, nil
}

// restore makes a process what it was when its recorder was killed: from its recording, up to where the state says that it
// counts, and the addresses that the state has.
func (p *process) restore(s *savedState) {
	old, err := recording.Open(s.Recording)
	if err != nil {
		if s.events > 0 {
			p.note("What the recorder had written before it was killed cannot be read: %v.", err)
		}
		return
	}
	defer old.Close()
	for i, t := range old.Threads() {
		p.out.Thread(uint32(i), t)
		p.started[uint32(i)] = t.Start
		p.numbers = uint32(i) + 1
	}
	for _, st := range s.streams {
		if st.known {
			key := threadKey{st.tid, st.start}
			if _, ok := p.threads[key]; !ok || st.level == 0 {
				p.threads[key] = st.thread
			}
		}
	}
	old.PCs().All(func(i uint32, pc event.PC) bool {
		if int(i) != len(p.pcs) {
			return false
		}
		p.pcs = append(p.pcs, pc)
		p.byPC[pc] = i
		if id, ok := pc.Pool(); ok {
			p.pools.pc(id, p.w.name(id))
		}
		p.out.PC(i, pc)
		return true
	})
	old.Nodes().All(func(i uint32, n event.Node) bool {
		if n.Parent >= i {
			return false // damaged: they are numbered from the root
		}
		id, isNew := p.tree.child(n.Parent, n.PC, n.Truncated)
		if !isNew || id != i {
			return false
		}
		p.out.Node(i, n)
		return true
	})
	for _, m := range old.Samples() {
		p.out.Sample(m)
	}
	for _, u := range old.StackUse() {
		p.stackUse(u)
	}
	if old.Folded().Cut > 0 {
		p.restOf(old, s)
		return
	}
	p.restoreMarks(old.Marks(), s.events)
	p.restoreRegions(old.Regions(), s.events)
	p.restoreRanges(old.Ranges(), s.events)
	live := map[uint64]event.Block{}
	funcs := map[uint64]event.Func{}
	latest := map[uint32]uint64{}
	var events, allocs uint64
	of := event.FuncUnknown
	err = old.Events(func(e *event.Event) bool {
		if events == s.events {
			return false
		}
		events++
		p.time = e.Time / recording.Quantum
		switch e.Kind {
		case event.Alloc:
			if addr := s.born[allocs]; addr != 0 {
				live[allocs] = event.Block{Addr: addr, Size: e.Size, Stack: e.Stack, Thread: e.Thread, Ref: allocs,
					Born: e.Time / recording.Quantum, Func: e.Func, Sampled: e.Flags&event.Sampled != 0}
			}
			latest[e.Thread] = allocs
			funcs[allocs] = e.Func
			allocs++
		case event.Free:
			of = funcs[e.Ref]
			p.pairs.ended(e, &event.Block{Size: e.Size, Func: of})
			delete(funcs, e.Ref)
			delete(live, e.Ref)
		}
		_ = p.out.Event(e)
		p.poolEvent(e, of)
		return true
	})
	if err != nil || events < s.events {
		p.note("Of what the recorder had written before it was killed, %d events are missing.", s.events-events)
		p.lost += s.events - events
	}
	p.ledger.Restore(seqOf(live), allocs, latest, p.time, s.backings)
}

// restSuffix replaces that of a recording that cannot be continued, for the recording that holds the rest.
const restSuffix = ".rest.htap"

// folded reports whether events of the recording were folded. Then the blocks that are live are not known any more, and what comes
// next goes to a recording of its own; the old one stays as it is.
func (s *savedState) folded() bool {
	old, err := recording.Open(s.Recording)
	if err != nil {
		return false
	}
	defer old.Close()
	return old.Folded().Cut > 0
}

// restName is the name of the recording of the rest.
func (s *savedState) restName() string { return strings.TrimSuffix(s.Recording, ".htap") + restSuffix }

// restOf makes the process one that has gone on for a while, of which the old recording tells.
func (p *process) restOf(old *recording.Reader, s *savedState) {
	_, last := old.Cuts()
	at, _ := old.TimeAt(last)
	p.time = at / recording.Quantum
	p.ledger.Restore(seqOf(nil), 0, map[uint32]uint64{}, p.time, s.backings)
	p.note("This is the rest of %s, whose recorder was killed after %.1f s: deallocations of blocks from before count as unmatched.",
		filepath.Base(s.Recording), float64(at)/1e9)
	switch {
	case last > s.events:
		p.note("The last %d events of %s are the first of this recording, too.", last-s.events, filepath.Base(s.Recording))
	case last < s.events:
		p.note("Between both, %d events are missing.", s.events-last)
		p.lost += s.events - last
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

package recording

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Reader reads one recording. Opening it reads the tables; events are read when asked for.
//
// A file that is damaged or was cut short still opens, as long as its header is whole: Complete and Damage say what is
// missing.
type Reader struct {
	name      string
	f         io.ReaderAt
	close     func() error
	size      int64
	header    fileHeader
	process   event.Process
	threads   []event.Thread
	modules   []event.Module
	pcs       Table[event.PC]
	nodes     Table[event.Node]
	unordered bool // there are nodes that come before their parents
	samples   []event.Sample
	variables []event.Variable
	sections  []event.DataSection
	residency []event.Residency
	stackUse  []event.StackUse
	counts    *event.Counts // nil: nothing was counted
	marks     []event.Mark  // by rising time
	regions   []event.RegionNote
	ranges    []event.NamedRange
	pairs     []event.Pair
	pools     []event.Pool
	merged    *Merged // nil: there are events
	frames    map[uint32][]event.Frame
	ending    Ending
	ended     bool
	promised  uint64         // events, by the ending
	stored    *tally.Summary // the latest statistics in the file; those of a recording that goes on tell of its events so far
	tally     *tally.Summary
	counted   bool // tally was counted here
	events    []indexEntry
	sums      map[uint64][]*indexEntry // summaries, by the number of their first event
	folds     map[layer]uint64         // all blocks of a layer below this number are folded
	fold      foldedHead               // the latest
	cuts      []uint64                 // within what is folded: where there are answers
	decoders  sync.Pool                // *eventDecoder
	mu        sync.Mutex               // of damage, seen
	counting  sync.Mutex               // of tally
	damage    []string
	seen      map[string]bool
	budget    int64 // bytes that tables may still unpack to

	blocks  []indexEntry // all that were found
	found   bool         // the description of the process
	scanned int64        // end of the last block that was found
	open    []string     // damage at the end, which a recorder that still writes will mend
	measure func() (int64, error)
}

// Open opens the recording at path.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("%s: is a directory, not a recording", path)
	}
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file; a recording cannot be read from a pipe or a device", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	r, err := NewReader(f, st.Size(), filepath.Base(path))
	if err != nil {
		f.Close()
		return nil, err
	}
	r.close = f.Close
	r.measure = func() (int64, error) {
		st, err := f.Stat()
		if err != nil {
			return 0, err
		}
		return st.Size(), nil
	}
	return r, nil
}

// NewReader reads a recording of size bytes from f. The name is used in messages.
func NewReader(f io.ReaderAt, size int64, name string) (*Reader, error) {
	r := &Reader{name: name, f: f, size: size, frames: make(map[uint32][]event.Frame), seen: make(map[string]bool),
		budget: roomOf(size)}
	h := make([]byte, fileHeaderLength)
	n, err := readFull(f, h, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	if r.header, err = decodeFileHeader(name, h[:n]); err != nil {
		return nil, err
	}
	if r.header.flags&flagMerged != 0 {
		r.merged = &Merged{Spreads: make(map[uint32]Spread)}
	}
	blocks, ok := r.findIndex()
	if ok {
		r.scanned = size
	} else {
		r.scanned = fileHeaderLength
		blocks = r.scan(0)
	}
	r.load(blocks)
	return r, nil
}

// roomOf is how much the tables of a file of that length may unpack to.
func roomOf(size int64) int64 { return tableRoom + min(size, math.MaxInt64/1024)*tableRatio }

// room is how much a summary may unpack to.
func (r *Reader) room() int64 { return roomOf(r.size) }

func (r *Reader) damaged(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := fmt.Sprintf(format, args...)
	if !r.seen[s] && len(r.damage) < 1000 {
		r.seen[s] = true
		r.damage = append(r.damage, s)
	}
}

// load reads all blocks but events.
func (r *Reader) load(blocks []indexEntry) {
	var (
		threads []entry[event.Thread]
		modules []event.Module
		pcs     []entry[event.PC]
		nodes   []entry[event.Node]
		s       column.Set
	)
	r.blocks = append(r.blocks, blocks...)
	r.loadFolded(blocks)
	for _, b := range blocks {
		if b.typ == blockEvents {
			r.addEvents(b)
			continue
		}
		if b.typ == blockSummary {
			r.addSummary(b)
			continue
		}
		if b.typ == blockIndex || b.typ == 0 || b.typ == blockFolded || b.typ > lastBlock || r.folded(&b) {
			continue
		}
		p, err := r.payload(b.header, nil)
		switch {
		case err != nil:
		case b.typ == blockProcess:
			if err = json.Unmarshal(p, &r.process); err == nil {
				r.found = true
			}
		case b.typ == blockEnding:
			err = r.loadEnding(p)
		default:
			if err = s.Parse(p); err != nil {
				break
			}
			if r.budget -= s.Size(); r.budget < 0 {
				err = errors.New("the tables would unpack to more than any recording of this size holds")
				break
			}
			switch b.typ {
			case blockThreads:
				threads, err = threadTable.Decode(&s, threads)
			case blockModules:
				modules, err = moduleTable.Decode(&s, modules)
			case blockPCs:
				pcs, err = pcTable.Decode(&s, pcs)
			case blockNodes:
				nodes, err = nodeTable.Decode(&s, nodes)
			case blockSamples:
				r.samples, err = decodeSamples(&s, r.samples)
			case blockSymbols:
				err = r.loadSymbols(&s)
			case blockTally:
				err = r.loadTally(&s)
			case blockMarks:
				r.marks, err = markTable.Decode(&s, r.marks)
			case blockRegions:
				r.regions, err = regionTable.Decode(&s, r.regions)
			case blockRanges:
				r.ranges, err = rangeTable.Decode(&s, r.ranges)
			case blockCounts:
				var c *event.Counts
				if c, err = decodeCounts(&s); err == nil {
					r.counts = c
				}
			case blockStackUse:
				r.stackUse, err = stackUseTable.Decode(&s, r.stackUse)
			case blockPairs:
				r.pairs, err = pairTable.Decode(&s, r.pairs)
			case blockPools:
				r.pools, err = poolTable.Decode(&s, r.pools)
			case blockInputs, blockTimeline, blockSpreads:
				err = r.loadMerged(b.typ, &s)
			case blockVariables:
				r.variables, err = variableTable.Decode(&s, r.variables)
			case blockDataSections:
				r.sections, err = dataSectionTable.Decode(&s, r.sections)
			case blockResidency:
				r.residency, err = residencyTable.Decode(&s, r.residency)
			}
		}
		if err != nil {
			r.damaged("the block of %s at offset %d: %v", b.typ, b.offset, err)
		}
	}
	if !r.found {
		r.open = append(r.open, "the description of the process is missing")
	}
	if !r.ended {
		r.open = append(r.open, "the ending is missing: the recorder was stopped or ran out of disk before the end, or the file was cut")
	}
	r.setThreads(threads)
	r.setModules(modules)
	r.pcs.add(pcs)
	r.nodes.add(nodes)
	if n, id := r.cutCycles(nodes); n > 0 {
		r.damaged("the tree of call stacks: %d of its nodes are their own ancestors, for example node %d", n, id)
	}
	if r.merged != nil && len(r.merged.Inputs) == 0 {
		r.damaged("the list of the recordings that were merged is missing")
	}
	slices.SortStableFunc(r.marks, func(a, b event.Mark) int { return cmp.Compare(a.Time, b.Time) })
	r.findCuts()
}

// addEvents adds a block of events, if it comes after those before it.
func (r *Reader) addEvents(b indexEntry) {
	h := &b.head
	if n := len(r.events); n > 0 {
		last := &r.events[n-1].head
		if h.FirstEvent < last.FirstEvent+last.Events || h.Begin < last.End || h.FirstAlloc < last.FirstAlloc+last.Allocs {
			r.damaged("the block of events at offset %d: it does not follow the one before it", b.offset)
			return
		}
	}
	if h.Events == 0 || h.End < h.Begin || h.FirstEvent > math.MaxUint64/2 {
		r.damaged("the block of events at offset %d: its head is invalid", b.offset)
		return
	}
	r.events = append(r.events, b)
}

func (r *Reader) addSummary(b indexEntry) {
	if !b.sum.Valid() {
		r.damaged("the summary at offset %d: its head is invalid", b.offset)
		return
	}
	if r.sums == nil {
		r.sums = make(map[uint64][]*indexEntry)
	}
	r.sums[b.sum.FirstEvent] = append(r.sums[b.sum.FirstEvent], &b)
}

func (r *Reader) setThreads(list []entry[event.Thread]) {
	top := len(r.threads)
	for _, t := range list {
		if uint64(t.id) > maxGap*uint64(len(r.threads)+len(list))+4096 {
			r.damaged("thread %d of %d has an impossible number", t.id, len(list))
			continue
		}
		top = max(top, int(t.id)+1)
	}
	r.threads = append(r.threads, make([]event.Thread, top-len(r.threads))...)
	for _, t := range list {
		if int64(t.id) < int64(top) {
			r.threads[t.id] = t.v
		}
	}
}

func (r *Reader) setModules(list []event.Module) {
	at := make(map[uint32]int)
	for i := range r.modules {
		at[r.modules[i].ID] = i
	}
	for _, m := range list {
		if i, ok := at[m.ID]; ok {
			r.modules[i] = m
			continue
		}
		at[m.ID] = len(r.modules)
		r.modules = append(r.modules, m)
	}
}

func (r *Reader) loadEnding(p []byte) error {
	var e endingFile
	if err := json.Unmarshal(p, &e); err != nil {
		return err
	}
	r.ending = Ending{End: e.End, Exited: e.Exited, Code: e.Code, Signal: e.Signal, Status: e.Status, Health: e.Health}
	r.ended, r.promised = true, e.Events
	return nil
}

func (r *Reader) loadSymbols(s *column.Set) error {
	list, err := symbolTable.Decode(s, nil)
	for _, x := range list {
		r.frames[x.id] = x.v
	}
	return err
}

func (r *Reader) loadTally(s *column.Set) error {
	b, err := s.Unpack(colTally, nil)
	if err != nil {
		return err
	}
	t, err := tally.Unmarshal(b)
	if err != nil {
		return err
	}
	if r.merged != nil && r.stored != nil { // its further stacks
		r.stored.Stacks = append(r.stored.Stacks, t.Stacks...)
		return nil
	}
	r.stored, r.tally, r.counted = t, nil, false
	return nil
}

// Name is the file's name, as messages show it.
func (r *Reader) Name() string { return r.name }

// Version is the version of the format that the file has.
func (r *Reader) Version() (major, minor int) { return int(r.header.major), int(r.header.minor) }

// Size is the file's length.
func (r *Reader) Size() int64 { return r.size }

// Process describes the process that was recorded.
func (r *Reader) Process() event.Process { return r.process }

// Threads returns the threads; an event's Thread is an index into them.
func (r *Reader) Threads() []event.Thread { return r.threads }

// Modules returns the modules, each once, in the order in which they were first seen.
func (r *Reader) Modules() []event.Module { return r.modules }

// PCs returns the addresses on call stacks.
func (r *Reader) PCs() *Table[event.PC] { return &r.pcs }

// Nodes returns the calling-context tree.
func (r *Reader) Nodes() *Table[event.Node] { return &r.nodes }

// Samples returns the readings of the process's memory.
func (r *Reader) Samples() []event.Sample { return r.samples }

// StackUse returns the readings of the memory of the threads' stacks, in the order in which they were taken.
func (r *Reader) StackUse() []event.StackUse { return r.stackUse }

// Marks returns the marks by rising time.
func (r *Reader) Marks() []event.Mark { return r.marks }

// Regions returns the notes of regions in the order in which they were written, which is that of the events.
func (r *Reader) Regions() []event.RegionNote { return r.regions }

// Ranges returns the names that the program gave to its memory, in the order in which they were written, which is that of the events.
func (r *Reader) Ranges() []event.NamedRange { return r.ranges }

// Pairs returns the allocations and deallocations that do not belong together, in the order in which they were found.
func (r *Reader) Pairs() []event.Pair { return r.pairs }

// Pools returns what the program's own pools came to, by name.
func (r *Reader) Pools() []event.Pool { return r.pools }

// Counts returns what the process's threads have counted; nil if nothing was. It must not be changed.
func (r *Reader) Counts() *event.Counts { return r.counts }

// Variables returns the static variables that the recording names: of each file the largest ones.
func (r *Reader) Variables() []event.Variable { return r.variables }

// DataSections returns the sections of each file that hold static data.
func (r *Reader) DataSections() []event.DataSection { return r.sections }

// Residency returns what was in memory of the modules' writable segments when heaptap looked last. A module at which it never looked is
// not in it.
func (r *Reader) Residency() []event.Residency { return r.residency }

// Frames returns the functions at a pc, leaf to root; nil if its symbols are not in the recording.
func (r *Reader) Frames(pc uint32) []event.Frame {
	p, _ := r.pcs.Get(pc)
	if name := p.Placeholder(); name != "" {
		return []event.Frame{{Function: name}}
	}
	return r.frames[pc]
}

// Ending says how the process ended; false if the recording ends before.
func (r *Reader) Ending() (Ending, bool) { return r.ending, r.ended }

// Health counts what was not recorded.
func (r *Reader) Health() event.Health { return r.ending.Health }

// Complete reports whether the file is whole and tells of the process up to its end.
func (r *Reader) Complete() bool { return r.ended && len(r.damage)+len(r.open) == 0 }

// Damage says in sentences what is missing.
func (r *Reader) Damage() []string { return slices.Concat(r.damage, r.open) }

// Close closes the file.
func (r *Reader) Close() error {
	if r.close == nil {
		return nil
	}
	return r.close()
}

// DamageError says that not all events could be read. Those that could were.
type DamageError struct {
	Name   string
	Damage []string
}

func (e *DamageError) Error() string {
	s := fmt.Sprintf("%s: %s", e.Name, e.Damage[0])
	if n := len(e.Damage) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// known bounds the stack ids that a damaged or forged file may name: beyond it, only those in the tree count.
func (r *Reader) known(id uint32) bool {
	if id < 1<<22 {
		return true
	}
	_, ok := r.nodes.Get(id)
	return ok && r.nodes.sparse == nil
}

// Tally returns what the events sum up to: as the recorder counted it if the recording has that, else counted now, from the
// recorder's latest count on, as far as the events are whole; Damage tells what is not.
func (r *Reader) Tally() (*tally.Summary, error) {
	r.counting.Lock()
	defer r.counting.Unlock()
	if r.tally != nil {
		return r.tally, nil
	}
	if _, last := r.Cuts(); r.stored != nil && (r.ended || r.stored.Totals.Events >= last) {
		r.tally = r.stored
		return r.tally, nil
	}
	t, from := tally.New(), uint64(0)
	if r.stored != nil {
		t, from = tally.Resume(r.stored), r.stored.Totals.Events
	}
	err := r.WalkBatches(context.Background(), from, math.MaxUint64, adding(t))
	var damage *DamageError
	if errors.As(err, &damage) {
		err = nil
	}
	sum := t.Summary()
	if err == nil {
		r.tally, r.counted = sum, true
	}
	return sum, err
}

// Recount counts the events. Those that were folded are not counted: a *FoldedError says so.
func (r *Reader) Recount() (*tally.Summary, error) {
	t := tally.New()
	err := r.WalkBatches(context.Background(), 0, math.MaxUint64, adding(t))
	return t.Summary(), err
}

// adding counts events.
func adding(t *tally.Tally) block.Yield {
	return func(b *Batch) bool {
		for i := range b.Events {
			t.Add(&b.Events[i])
		}
		return true
	}
}

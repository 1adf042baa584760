package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// appender appends blocks to a file.
type appender struct {
	name    string
	f       file
	pay     *column.Payload
	pack    block.Packer
	kept    pendingTables // what could not be written yet
	blocks  []indexEntry
	out     []byte
	end     int64 // of the last whole block
	seq     uint32
	sums    summaries
	far     farWriter
	count   uint64  // events blocks in the file
	written uint64  // events in the file
	lost    uint64  // events that could not be written
	latest  uint64  // time of the latest event, in units
	fold    *folder // nil: nothing is folded
	dropped bool    // a block of events made room for the ending
	err     error   // the first; nothing is written after it
}

type indexEntry struct {
	header
	head block.Head        // of an events block
	sum  block.SummaryHead // of a summary
}

func newAppender(f file, name string) (*appender, error) { return newAppenderFlags(f, name, 0) }

func newAppenderFlags(f file, name string, flags uint32) (a *appender, err error) {
	a = &appender{name: name, f: f, end: fileHeaderLength, pay: column.NewPayload()}
	h := fileHeader{major: VersionMajor, minor: VersionMinor, flags: flags, quantum: Quantum}.encode()
	if _, err := f.WriteAt(h, 0); err != nil {
		return a, fmt.Errorf("cannot write the recording %s: %w", name, err)
	}
	return a, nil
}

// events appends a block of events, and the summaries that are complete with it.
func (a *appender) events(s *block.Sealed) error {
	if a.err == nil {
		a.pack.Pack(s, a.pay)
	}
	if a.err != nil || a.block(blockEvents, a.pay.Bytes()) != nil {
		a.lost += s.Head.Events
		return a.err
	}
	a.blocks[len(a.blocks)-1].head = s.Head
	a.written += s.Head.Events
	a.latest = s.Head.End
	a.farSums(s)
	a.summarise(&s.Head, a.count, s.Stacks)
	a.count++
	return a.err
}

// tables appends what was added to the tables. What cannot be written is kept: finish tries again.
func (a *appender) tables(t *pendingTables) error {
	k := &a.kept
	k.moveFrom(t)
	if a.err != nil {
		return a.err
	}
	if k.process != nil && a.json(blockProcess, *k.process) == nil {
		k.process = nil
	}
	writeTable(a, blockThreads, &k.threads, &threadTable)
	writeTable(a, blockModules, &k.modules, &moduleTable)
	writeTable(a, blockPCs, &k.pcs, &pcTable)
	writeTable(a, blockNodes, &k.nodes, &nodeTable)
	writeTable(a, blockSamples, &k.samples, &sampleTable)
	writeTable(a, blockStackUse, &k.stackUse, &stackUseTable)
	writeTable(a, blockResident, &k.resident, &residentTable)
	writeTable(a, blockMarks, &k.marks, &markTable)
	writeTable(a, blockRegions, &k.regions, &regionTable)
	writeTable(a, blockRanges, &k.ranges, &rangeTable)
	a.pageReadings(&k.pages)
	return a.err
}

// writeTable appends the rows of a table, and leaves in list those that could not be written. What it writes may change
// list's memory.
func writeTable[T any](a *appender, typ blockType, list *[]T, t *column.Table[T]) {
	all := *list
	for len(all) > 0 && a.err == nil {
		n := min(len(all), tableRows)
		t.Encode(a.pay, all[:n])
		for a.pay.TooLong() && n > 1 { // of long names
			n /= 2
			t.Encode(a.pay, all[:n])
		}
		if a.block(typ, a.pay.Bytes()) == nil {
			all = all[n:]
		}
	}
	*list = append((*list)[:0], all...)
}

// endingFile is Ending as it is stored.
type endingFile struct {
	End    int64        `json:"end"`
	Exited bool         `json:"exited"`
	Code   int          `json:"code"`
	Signal int          `json:"signal"`
	Status string       `json:"status,omitempty"`
	Health event.Health `json:"health"`
	Events uint64       `json:"events"` // in the recording
}

// finish appends the tables that are left, the tally, the ending and the index. After an error it tries again: what is
// left is small and may fit. The ending, which says how much was lost, matters more than anything but the events: if
// there is no room for it, finish cuts off what is at the file's end.
func (a *appender) finish(e Ending) error {
	a.err = nil
	if a.tables(&pendingTables{}) == nil && a.endFar() == nil {
		a.lastFold(e.Tally.Summary())
	}
	first := a.err
	for n := len(a.blocks); ; n-- {
		a.err = nil
		if a.json(blockEnding, endingFile{e.End, e.Exited, e.Code, e.Signal, e.Status, e.Health, a.written}) == nil &&
			a.index() == nil {
			return first
		}
		if first == nil {
			first = a.err
		}
		lost, ok := a.cut(n - 1)
		if !ok {
			return first
		}
		e.Health.LostEvents += lost
	}
}

// cut cuts the file after its first n blocks, and returns how many events were in the others. It removes at most one
// block of events, which gives room enough, and nothing if earlier blocks were folded into later ones.
func (a *appender) cut(n int) (lost uint64, ok bool) {
	if n < 1 || a.fold != nil || a.dropped {
		return 0, false
	}
	for _, b := range a.blocks[n:] {
		if b.typ == blockEvents {
			lost += b.head.Events
			a.dropped = true
		}
	}
	a.written -= lost
	a.lost += lost
	a.end, a.seq = a.blocks[n].offset, a.blocks[n].seq
	a.blocks = a.blocks[:n]
	return lost, a.f.Truncate(a.end) == nil
}

// counts appends the statistics of the events so far.
func (a *appender) counts(s *tally.Summary) error {
	a.pay.Reset()
	id := colTally
	for piece := range slices.Chunk(s.Marshal(), column.MaxLength) {
		a.pay.Column(id, piece)
		id++
	}
	return a.block(blockTally, a.pay.Bytes())
}

func (a *appender) json(t blockType, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.block(t, b)
}

// block appends one block.
func (a *appender) block(t blockType, payload []byte) error {
	if a.err != nil {
		return a.err
	}
	if len(payload) > maxPayload {
		a.err = fmt.Errorf("%s: a block of %s would be %d bytes, more than %d", a.name, t, len(payload), maxPayload)
		return a.err
	}
	b := header{typ: t, seq: a.seq, length: uint32(len(payload)), checksum: checksum(payload), offset: a.end}
	a.out = append(b.encode(a.out[:0]), payload...)
	if _, err := a.f.WriteAt(a.out, a.end); err != nil {
		a.err = fmt.Errorf("cannot write the recording %s: %w", a.name, err)
		if err := a.f.Truncate(a.end); err != nil {
			a.err = errors.Join(a.err, err)
		}
		return a.err
	}
	a.blocks = append(a.blocks, indexEntry{header: b})
	a.end = b.end()
	a.seq++
	return nil
}

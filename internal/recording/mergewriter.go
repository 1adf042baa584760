package recording

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/tally"
)

// Sums is all that a merged recording holds. Modules, PCs and Nodes are numbered from 1; Nodes come after their
// parents.
type Sums struct {
	Process event.Process // what all have in common
	Ending  Ending        // its Tally is not used
	Threads []event.Thread
	Modules []event.Module
	PCs     []event.PC
	Frames  [][]event.Frame // by pc, from 0
	Nodes   []event.Node
	Pools   []event.Pool
	Tally   *tally.Summary
	Merged  *Merged
}

// inputRows is how many inputs a block has at most.
const inputRows = 1 << 12

// WriteMerged writes a merged recording to path. With an error, path is as it was.
func WriteMerged(path string, s *Sums) error {
	return replace(path, func(f file) error { return s.write(f, path) })
}

// replace writes a file and moves it to path. With an error, path is as it was. The file gets the permissions of the
// recording that was there, if that was one of ours.
func replace(path string, write func(file) error) (err error) {
	temp := fmt.Sprintf("%s.%d.part", path, os.Getpid())
	f, err := private.Create(temp, private.ModeOf(path, OwnerOnly))
	if err != nil {
		return fmt.Errorf("cannot create the recording: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(temp)
		}
	}()
	err = write(osFile{f})
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func (s *Sums) write(f file, name string) error {
	a, err := newAppenderFlags(f, name, flagMerged)
	if err == nil {
		err = a.json(blockProcess, s.Process)
	}
	if err != nil {
		return err
	}
	var t pendingTables
	for i, v := range s.Threads {
		t.threads = append(t.threads, entry[event.Thread]{uint32(i), v})
	}
	t.modules = s.Modules
	for i, v := range s.PCs {
		t.pcs = append(t.pcs, entry[event.PC]{uint32(i + 1), v})
	}
	for i, v := range s.Nodes {
		t.nodes = append(t.nodes, entry[event.Node]{uint32(i + 1), v})
	}
	_ = a.tables(&t)
	var frames []symbols
	for i, list := range s.Frames {
		if len(list) > 0 {
			frames = append(frames, symbols{uint32(i + 1), list})
		}
	}
	writeTable(a, blockSymbols, &frames, &symbolTable)
	pools := s.Pools
	writeTable(a, blockPools, &pools, &poolTable)
	for part := range slices.Chunk(s.Merged.Inputs, inputRows) {
		if a.err == nil {
			encodeInputs(a.pay, part)
			_ = a.block(blockInputs, a.pay.Bytes())
		}
	}
	if a.err == nil {
		_ = a.timeline(s.Merged)
	}
	spreads := make([]spread, 0, len(s.Merged.Spreads))
	for id, v := range s.Merged.Spreads {
		spreads = append(spreads, spread{id, v})
	}
	slices.SortFunc(spreads, func(a, b spread) int { return cmp.Compare(a.id, b.id) })
	writeTable(a, blockSpreads, &spreads, &spreadTable)
	first := *s.Tally
	stacks := first.Stacks
	for more := true; more && a.err == nil; more = len(stacks) > 0 {
		n := min(len(stacks), tableRows)
		first.Stacks, stacks = stacks[:n], stacks[n:]
		_ = a.counts(&first)
		first = tally.Summary{}
	}
	if e := s.Ending; a.err == nil {
		_ = a.json(blockEnding, endingFile{e.End, e.Exited, e.Code, e.Signal, e.Status, e.Health, 0})
	}
	if a.err == nil {
		_ = a.index()
	}
	return a.err
}

func encodeInputs(p *column.Payload, list []Input) {
	p.Reset()
	p.Uint(uint64(len(list)))
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // cannot be: numbers and text have JSON
	}
	p.Column(colJSON, b)
}

func decodeInputs(s *column.Set, list []Input) ([]Input, error) {
	b, err := s.Unpack(colJSON, nil)
	if err != nil {
		return list, err
	}
	var more []Input
	if err := json.Unmarshal(b, &more); err != nil {
		return list, err
	}
	return append(list, more...), nil
}

func (a *appender) timeline(m *Merged) error {
	a.pay.Reset()
	clock := uint64(0)
	if m.Clock {
		clock = 1
	}
	a.pay.Uint(clock)
	b, err := json.Marshal(&m.Timeline)
	if err != nil {
		return err
	}
	a.pay.Column(colJSON, b)
	return a.block(blockTimeline, a.pay.Bytes())
}

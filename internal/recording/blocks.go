package recording

import (
	"strconv"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Block describes one block of a recording's file.
type Block struct {
	Number uint32 // as the block says; those of a whole file count from 0
	Type   string // in words
	Offset int64  // in the file
	Size   int64  // in the file, with its header
	Folded bool   // only its head is left

	// Of events and summaries; else 0.
	Events, FirstEvent uint64
	Begin, End         int64 // time of the first and last event, ns
	Live, LiveBlocks   int64 // before the first event
	Peak               int64 // most bytes live at any moment of the block
	Stacks             uint64
	Threads            uint64 // of events
	Level              int    // of a summary: it sums up at most 16^Level blocks of events
}

// Blocks returns the file's blocks, as far as their headers are whole.
func (r *Reader) Blocks() []Block {
	list := make([]Block, len(r.blocks))
	for i := range r.blocks {
		e := &r.blocks[i]
		b := Block{Number: e.seq, Type: e.typ.String(), Offset: e.offset, Size: e.end() - e.offset,
			Folded: r.events.folded(e)}
		switch e.typ {
		case blockEvents:
			h := &e.head
			b.Events, b.FirstEvent, b.Begin, b.End = h.Events, h.FirstEvent, r.ns(h.Begin), r.ns(h.End)
			b.Live, b.LiveBlocks, b.Peak, b.Stacks, b.Threads = h.Live, h.LiveCount, h.Peak, h.Stacks, h.Threads
		case blockSummary:
			h := &e.sum
			b.Events, b.FirstEvent, b.Begin, b.End = h.Events, h.FirstEvent, r.ns(h.Begin), r.ns(h.End)
			b.Live, b.LiveBlocks, b.Peak, b.Stacks, b.Level = h.Live, h.LiveCount, h.Peak, h.Changes, int(h.Level)
		}
		list[i] = b
	}
	return list
}

// Column describes one column of a block.
type Column struct {
	Name     string // in words
	Stored   int64  // bytes in the file
	Unpacked int64
}

// Columns returns the columns of block i of Blocks. The process, the ending and folded blocks have none.
func (r *Reader) Columns(i int) ([]Column, error) {
	b := r.blocks[i].header
	if b.typ == blockProcess || b.typ == blockEnding || b.typ == 0 || b.typ > lastBlock ||
		r.events.folded(&r.blocks[i]) {
		return nil, nil
	}
	p, err := r.payload(b, nil)
	if err != nil {
		return nil, err
	}
	if b.typ == blockIndex {
		p = p[:max(0, len(p)-trailerSize)]
	}
	var s column.Set
	if err := s.Parse(p); err != nil {
		return nil, err
	}
	list := make([]Column, 0, len(s.IDs))
	for _, id := range s.IDs {
		list = append(list, Column{columnName(b.typ, id), int64(s.Stored(id)), int64(s.Raw(id))})
	}
	return list, nil
}

// columnNames are the names of the columns of each type of block, as in doc.go. Package block has those of events and
// summaries.
var columnNames = map[blockType]map[column.ID]string{
	blockThreads: {1: "index", 2: "kernel's id", 3: "start", column.Texts: "names"},
	blockModules: {1: "id", 2: "addresses", 3: "times", column.Texts: "paths, build ids"},
	blockPCs:     {1: "id", 2: "addresses", 3: "modules"},
	blockNodes:   {1: "id", 2: "parents", 3: "addresses"},
	blockSymbols: {1: "address", 2: "frames", 3: "texts of a frame", 4: "lines", column.Texts: "texts"},
	blockTally:   {2: "counts"},
	blockIndex: {colTypes: "types", colSizes: "lengths", colSums: "checksums", colHeads: "heads of events",
		colAbove: "heads of summaries"},
	blockVariables:    {1: "modules", 2: "addresses, sizes", 3: "kinds, texts", 4: "lines", column.Texts: "texts"},
	blockDataSections: {1: "modules", 2: "kinds, addresses", 3: "variables"},
	blockResidency:    {1: "modules", 2: "times, page sizes", 3: "numbers of ranges", 4: "ranges"},
	blockMarks:        {1: "times", 2: "sources, threads", 3: "events before", column.Texts: "names"},
	blockRegions: {1: "threads", 2: "times, events and allocations before", 3: "names", 4: "ends, numbers",
		column.Texts: "texts"},
	blockRanges: {1: "threads", 2: "times, events before", 3: "names", 4: "addresses, sizes",
		column.Texts: "texts"},
	blockCounts: {1: "threads", 2: "functions, sums", 3: "names", 4: "classes of sizes and times",
		column.Texts: "texts"},
	blockStackUse: {1: "threads", 2: "times", 3: "measures, bytes", 4: "stacks"},
	blockResident: {1: "times", 2: "kinds, bytes, sizes", 3: "stacks, paths", column.Texts: "texts"},
	blockPairs:    {1: "threads", 2: "times", 3: "functions, stacks", 4: "counts, sizes"},
	blockPools:    {2: "sums", 3: "names", column.Texts: "texts"},
	blockPages:    {1: "times, costs", 2: "numbers of ranges", 3: "areas", 4: "pages"},
	blockSamples: {16: "time", 17: "resident", 18: "virtual", 19: "swap", 20: "proportional", 21: "minor faults",
		22: "major faults", 23: "memory available", 24: "cached", 25: "threads"},
}

func columnName(t blockType, id column.ID) string {
	name := ""
	switch t {
	case blockEvents:
		name = block.EventColumnNames[id]
	case blockSummary:
		name = block.SummaryColumnNames[id]
	case blockFar:
		name = block.FarColumnNames[id]
	default:
		name = columnNames[t][id]
	}
	if name == "" {
		name = "column " + strconv.Itoa(int(id))
	}
	return name
}

package corpus

import (
	"github.com/heaptap/heaptap/tests/kit"
)

// report is what the corpus reads of `heaptap report --json`.
type report struct {
	Totals struct {
		Allocations, Bytes, Deallocations, Reallocations uint64
		Freed                                            uint64 `json:"freed_bytes"`
	}
	Peak, Leaked struct{ Bytes, Blocks uint64 }
	Temporary    struct{ Allocations, Bytes uint64 }
	Maps         map[string]map[string]uint64
	Samples      struct {
		Peak uint64 `json:"peak_rss_bytes"`
	}
	Stacks []struct {
		Class                             string
		Allocations, Bytes, Deallocations uint64
		Freed                             uint64 `json:"freed_bytes"`
		PeakBytes                         uint64 `json:"live_at_peak_bytes"`
		PeakBlocks                        uint64 `json:"live_at_peak_blocks"`
		LeakedBytes                       uint64 `json:"leaked_bytes"`
		LeakedBlocks                      uint64 `json:"leaked_blocks"`
		Temporary                         uint64
		TemporaryBytes                    uint64 `json:"temporary_bytes"`
		Reallocations                     uint64
		InPlace                           uint64  `json:"reallocations_in_place"`
		Numbers                           []int   `json:"frames"`
		Frames                            []frame `json:"-"`
	}
	Frames frameTable
}

// frameTable is the frames of an answer's call stacks.
type frameTable []frame

// of returns the frames of a call stack.
func (t frameTable) of(numbers []int) (list []frame) {
	for _, n := range numbers {
		list = append(list, t[n])
	}
	return list
}

func (r *run) report() *report {
	if r.reported == nil {
		r.reported = &report{}
		p := r.reported
		r.json(p, "report")
		for i := range p.Stacks {
			p.Stacks[i].Frames = p.Frames.of(p.Stacks[i].Numbers)
		}
	}
	return r.reported
}

// whole has the report's numbers of the whole process.
func (r *run) whole() values {
	p := r.report()
	return values{"allocations": p.Totals.Allocations, "bytes": p.Totals.Bytes, "deallocations": p.Totals.Deallocations,
		"freed": p.Totals.Freed, "peak": p.Peak.Bytes, "peak-blocks": p.Peak.Blocks, "leaked": p.Leaked.Bytes,
		"leaked-blocks": p.Leaked.Blocks, "temporary": p.Temporary.Allocations, "temporary-bytes": p.Temporary.Bytes,
		"reallocations": p.Totals.Reallocations}
}

// maps has the report's numbers of mapping changes.
func (r *run) maps() values {
	out := values{}
	for call, counts := range r.report().Maps {
		for name, n := range counts {
			out[call+"."+name] = n
		}
	}
	return out
}

// dumpEvent is a line of `heaptap dump --events --json`.
type dumpEvent struct {
	Kind               string
	Stack              uint32
	Size               uint64
	Temporary, Realloc bool
	InPlace            bool `json:"in_place"`
}

func (r *run) events() []dumpEvent {
	if r.dumped == nil {
		lines(r, "--events", func(e dumpEvent) { r.dumped = append(r.dumped, e) })
	}
	return r.dumped
}

// stack returns the frames of a call stack, leaf first, from the tree that dump prints: parents come before children.
func (r *run) stack(id uint32) []frame {
	if r.stacks == nil {
		r.stacks = map[uint32][]frame{}
		modules := map[uint32]string{}
		lines(r, "--modules", func(m struct {
			Module uint32
			Path   string
		}) {
			modules[m.Module] = m.Path
		})
		lines(r, "--stacks", func(n struct {
			Stack, Parent, Module uint32
			Frames                []frame
		}) {
			for i := range n.Frames {
				n.Frames[i].Module = modules[n.Module]
			}
			r.stacks[n.Stack] = append(n.Frames, r.stacks[n.Parent]...)
		})
	}
	return r.stacks[id]
}

// lines reads what dump prints, one object a line.
func lines[T any](r *run, part string, each func(T)) {
	r.t.Helper()
	for _, v := range kit.JSON[T](r.t, "dump", part, "--json", r.recording) {
		each(v)
	}
}

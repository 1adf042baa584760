package record

import (
	"fmt"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/record/ticks"
	"github.com/heaptap/heaptap/internal/wire"
)

// health is what is missing in a process's recording, or doubtful.
type health struct {
	lost      uint64            // events that could not be read
	byStream  map[uint64]uint64 // events that the writers lost
	late      uint64
	strange   bool     // events of an unknown kind were noted
	sentences []string // for the user
}

// maxNotes bounds the sentences of a recording.
const maxNotes = 32

func (h *health) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if len(h.sentences) < maxNotes && !slices.Contains(h.sentences, n) {
		h.sentences = append(h.sentences, n)
	}
}

// ofStreams is how many events the writers of streams have lost.
func (h *health) ofStreams() (n uint64) {
	for _, v := range h.byStream {
		n += v
	}
	return n
}

// unknownKind counts an event of a kind that is not known.
func (h *health) unknownKind(kind uint8) {
	h.lost++
	if !h.strange {
		h.strange = true
		h.note("Some events are of a kind (%d) that this heaptap does not know and are missing.", kind)
	}
}

// result is what the recording says. The header's counters c are the whole spool's: all its processes share the costs,
// and the first one has the other counters. others is how many events the writers of the other processes' streams have
// lost.
func (h *health) result(c *[wire.Counters]uint64, first bool, others uint64, clock *ticks.Map) event.Health {
	own := h.ofStreams()
	r := event.Health{LostEvents: h.lost + own, LateEvents: h.late, Notes: h.sentences}
	cost := func(ticks, events uint64) float64 { // the mean in ns, to a tenth
		if events == 0 {
			return 0
		}
		return math.Round(10*float64(clock.Duration(ticks))/float64(events)) / 10
	}
	r.AllocCost = cost(c[wire.CAllocTicks], c[wire.CAllocTimed])
	r.FreeCost = cost(c[wire.CFreeTicks], c[wire.CFreeTimed])
	if !first {
		return r
	}
	if c[wire.CLost] > own+others {
		r.LostEvents += c[wire.CLost] - own - others
	}
	r.TruncatedStacks, r.BadCFI, r.GuessedFrames = c[wire.CTruncated], c[wire.CBadCFI], c[wire.CGuessed]
	r.TableFull, r.NoThread, r.SpilledChunks = c[wire.CTableFull], c[wire.CNoThread], c[wire.CSpilled]
	r.Waits, r.FullSteps, r.BootAllocations = c[wire.CWaits], c[wire.CFullSteps], c[wire.CBoot]
	r.Notes = slices.Concat(r.Notes, forbidden(c[wire.CForbidden], c[wire.CStopped]))
	return r
}

// forbidden says what the program has forbidden itself, and so the agent: system calls, and reading the clock.
func forbidden(calls, events uint64) []string {
	var list []string
	if calls > 0 {
		list = append(list, fmt.Sprintf(
			"a seccomp filter forbids system calls that heaptap would have made: it did without, %d times", calls))
	}
	if events > 0 {
		list = append(list, fmt.Sprintf(
			"%d of the events that could not be recorded are those of threads that may not read "+
				"the processor's clock (SECCOMP_MODE_STRICT or PR_SET_TSC)", events))
	}
	return list
}

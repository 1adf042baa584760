package view

import (
	"fmt"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/recording"
)

// warnings writes what is wrong with the data; usually nothing.
func (r *report) warnings() {
	list := problems(r)
	for _, s := range list {
		r.wrapWarning(s)
	}
	if len(list) > 0 {
		r.printf("\n")
	}
}

// problems returns sentences about data that are missing or not exact.
func problems(r *report) []string {
	p, h := r.p, r.p.Ending.Health
	var list []string
	add := func(n uint64, noun, text string) {
		if n > 0 {
			list = append(list, humanize.Plural(n, noun)+" "+text)
		}
	}
	if len(p.Damage) > 0 {
		s := fmt.Sprintf("the recording is incomplete: %s", clean(p.Damage[0]))
		if n := len(p.Damage) - 1; n > 0 {
			s += fmt.Sprintf(" (and %d more)", n)
		}
		list = append(list,
			s+". The numbers cover only what could be read; blocks that were live at its end count as leaked.")
	}
	if f := &p.Folded; f.Cut > 0 {
		list = append(list, fmt.Sprintf("events before %s were folded (%s): totals, peaks and leaks are exact",
			humanize.Duration(f.Time), foldedBy(f)))
	}
	add(h.LostEvents, "event", "could not be recorded: counts are too low, and blocks whose deallocation was lost "+
		"show as leaked")
	add(h.NoThread, "event", "lost for want of memory for a thread's state")
	add(h.TruncatedStacks, "stack", "could not be followed up to the root")
	add(h.TableFull, "stack", "not kept because a table was full: shown without a call stack")
	add(h.BadCFI, "frame", "with call frame information that could not be used")
	where := "`heaptap run --free-stacks` shows where"
	if freeStacks(p) {
		where = "the report shows where"
	}
	add(p.Totals.Unmatched, "deallocation", "of addresses that were not live: memory from before the recording, "+
		"freed twice, or foreign; "+where)
	add(p.Totals.Unseen, "deallocation", "not seen: the address was given out again, which ended the block")
	add(h.LateEvents, "event", "came late and took the time of the event before")
	add(h.StaticPrograms, "statically linked program", "that it executed ran unrecorded")
	for _, n := range h.Notes {
		list = append(list, clean(n))
	}
	return list
}

// foldedBy returns the flags of heaptap run that limited the recording.
func foldedBy(f *recording.Folded) string {
	var flags []string
	if f.Keep > 0 {
		s := f.Keep.String()
		if strings.HasSuffix(s, "m0s") {
			s = strings.TrimSuffix(s, "0s")
		}
		if strings.HasSuffix(s, "h0m") {
			s = strings.TrimSuffix(s, "0m")
		}
		flags = append(flags, "--keep "+s)
	}
	if n := f.MaxSize; n > 0 {
		unit := 0
		for unit < 4 && n%1024 == 0 {
			n /= 1024
			unit++
		}
		flags = append(flags, fmt.Sprintf("--max-size %d%s", n, []string{"", "K", "M", "G", "T"}[unit]))
	}
	return strings.Join(flags, " ")
}

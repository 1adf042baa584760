package check

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Style says how results are written as text.
type Style struct {
	Exact  bool // numbers in full
	Stacks int  // limit on the call stacks of each check
	Frames int  // limit on the lines of each call stack; negative: all
}

// Amount formats a metric's value.
func Amount(m query.Metric, n uint64, exact bool) string {
	switch {
	case m.Unit() != query.ByteCount && exact:
		return humanize.Number(n)
	case m.Unit() != query.ByteCount:
		return humanize.Short(n)
	case exact:
		return humanize.Number(n) + " B"
	}
	return humanize.Size(n)
}

// Text says in a line what a check found. Different numbers have different texts.
func (c *Check) Text(exact bool) string {
	text := func(n uint64) string {
		if Amount(c.Metric, c.Value, false) == Amount(c.Metric, c.Limit, false) && c.Value != c.Limit {
			return Amount(c.Metric, n, true)
		}
		return Amount(c.Metric, n, exact)
	}
	beyond := ""
	if c.Failed {
		beyond = ": " + text(c.Excess()) + " too much"
	}
	switch c.Kind {
	case Complete:
		if len(c.Missing) == 0 {
			return "no event is missing"
		}
		return "not complete: " + escape.Terminal(strings.Join(c.Missing, "; "))
	case Growth:
		switch {
		case c.Value == 0:
			return "no call stack kept growing"
		case !c.Failed:
			return "no call stack kept growing in more than half of the runs" + c.exceeded()
		}
		return humanize.Plural(c.Value, "call stack") + " kept growing" + c.exceeded()
	case Mismatches:
		return c.mismatchText()
	case Base:
		return fmt.Sprintf("%s %s%s, baseline %s%s, limit %s%s%s", c.Metric, text(c.Value), spread(c.Runs, text),
			text(c.Base), spread(c.BaseRuns, text), text(c.Limit), beyond, c.certainty())
	case StackBase:
		return fmt.Sprintf("%s of one call stack grew by %s, limit %s%s", c.Metric, text(c.Value), text(c.Limit),
			beyond)
	}
	if c.Failed {
		beyond += c.exceeded()
	}
	return fmt.Sprintf("%s %s%s%s, limit %s%s", c.Metric, text(c.Value), c.estimate(exact), most(c.Runs, text),
		text(c.Limit), beyond)
}

// exceeded says in which share of several runs a limit does not hold.
func (c *Check) exceeded() string {
	if n := len(c.Runs); n > 1 {
		return fmt.Sprintf(" in %d of %d runs", c.Exceeded, n)
	}
	return ""
}

// spread says of what a value is the median.
func spread(runs []uint64, text func(uint64) string) string {
	least, most := slices.Min(runs), slices.Max(runs)
	switch {
	case len(runs) == 1:
		return ""
	case least == most:
		return fmt.Sprintf(" in each of %d runs", len(runs))
	}
	return fmt.Sprintf(" (median of %d runs, %s to %s)", len(runs), text(least), text(most))
}

// most says of what a value is the largest.
func most(runs []uint64, text func(uint64) string) string {
	switch {
	case len(runs) <= 1:
		return ""
	case slices.Min(runs) == slices.Max(runs):
		return fmt.Sprintf(" in each of %d runs", len(runs))
	}
	return fmt.Sprintf(" at most in %d runs (median %s)", len(runs), text(median(runs)))
}

// certainty says how certain it is that a value exceeds that of the baseline.
func (c *Check) certainty() string {
	share := humanize.Percent(uint64(math.Round(c.Chance*1e6)), 1e6)
	switch {
	case c.Value <= c.Limit:
		return ""
	case c.NotKnown:
		return " (single runs: noise is not known)"
	case c.Few && c.Failed:
		return fmt.Sprintf("; in every run, which noise alone does in %s of cases: more runs would be surer", share)
	case c.Failed:
		return fmt.Sprintf("; noise alone does this in %s of cases", share)
	}
	return fmt.Sprintf(", exceeded, but noise alone does this in %s of cases", share)
}

func (c *Check) mismatchText() string {
	switch {
	case c.Value > 0:
		return humanize.Plural(c.Value, "mismatched deallocation") + c.exceeded() + ", see heaptap mismatches"
	case c.NotJudged > 0:
		return "no block was freed by the wrong function; not judged: " + humanize.Plural(c.NotJudged, "deallocation") +
			" of blocks of the parent process"
	}
	return "no block was freed by the wrong function"
}

// estimate marks a value as an estimate.
func (c *Check) estimate(exact bool) string {
	switch {
	case !c.Estimate:
		return ""
	case c.Error == 0:
		return " (estimated)"
	}
	return " ± " + Amount(c.Metric, uint64(math.Round(c.Error)), exact) + " (estimated)"
}

// First returns the first stacks of a check, at most limit, and how many more have a part in its value.
func (c *Check) First(limit int) (list []Stack, more int) {
	n := min(max(limit, 0), len(c.Stacks))
	return c.Stacks[:n], len(c.Stacks) - n + c.More
}

// Part is a call stack's part in a check's value as text: the value, its share of all, and notes.
type Part struct {
	Value, Share string // Share may be ""
	Notes        []string
}

// Part formats the part of a call stack in the value.
func (c *Check) Part(s *Stack, exact bool) Part {
	text := func(n uint64) string { return Amount(c.Metric, n, exact) }
	size, count := humanize.Size, humanize.Short
	if exact {
		size, count = humanize.Number, humanize.Number
	}
	switch {
	case s.Suspect != nil:
		return Part{Value: text(s.Value), Notes: []string{
			"+" + size(uint64(s.Suspect.Slope)) + "/s", fmt.Sprintf("%.0f %% steady", 100*s.Suspect.Confidence)}}
	case c.Kind != Max && c.Kind != Mismatches:
		return Part{Value: "+" + text(s.Value-min(s.Base, s.Value)),
			Notes: []string{"was " + text(s.Base), "is " + text(s.Value)}}
	}
	p := Part{Value: text(s.Value), Share: humanize.Percent(s.Value, c.Value)}
	if s.Blocks > 0 {
		noun := " block"
		if c.Metric == query.Bytes || c.Metric == query.TemporaryBytes {
			noun = " call"
		}
		if s.Blocks != 1 {
			noun += "s"
		}
		p.Notes = append(p.Notes, count(s.Blocks)+noun)
	}
	return p
}

// stackText writes a call stack without layout: its part, then its frames, one per line.
func stackText(s *query.Source, c *Check, st *Stack, style *Style) string {
	p := c.Part(st, style.Exact)
	if p.Share != "" {
		p.Value += " (" + p.Share + ")"
	}
	lines := []string{strings.Join(append([]string{p.Value}, p.Notes...), ", ")}
	levels := s.Profile.NewFolding(owncode.Rules{}, false).Lines(st.ID)
	for i := range levels.List {
		if i == style.Frames {
			lines = append(lines, "    … "+humanize.Plural(uint64(len(levels.List)-i), "more frame"))
			break
		}
		lines = append(lines, "    at "+frameText(levels.List[i].Frame))
	}
	return strings.Join(lines, "\n") + "\n"
}

func frameText(f *profile.Frame) string {
	text := f.Function
	if text == "" {
		text = f.AddressName()
	}
	if f.File != "" {
		text += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
	} else if f.Module != "" {
		text += " (" + filepath.Base(f.Module) + ")"
	}
	return escape.Terminal(text)
}

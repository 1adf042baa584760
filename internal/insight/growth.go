package insight

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

const (
	// leastRun is the shortest run whose growth means something: a shorter one has only begun.
	leastRun = 1e9
	// leastBytes and leastShare are the least growth, the share being of the peak. A leak is small in a short run;
	// below this it is lost among what programs keep for themselves (names, locales, a cache).
	leastBytes = 16 << 10
	leastShare = .02
	// leastEven is the least evenness of growth (query.Suspect). Of the programs of tests/growth, which leak or do not,
	// those that leak reach .8, and one whose sessions come and go at random reached .73.
	leastEven = .75
	// mostPlaces is how many functions may keep growing. If more do, the program as a whole fills its memory with what
	// it works on, as compilers do, and no leak stands out.
	mostPlaces = 6
)

// least is the growth or the leak from which on one stands out.
func (f *finder) least() uint64 {
	return max(leastBytes, uint64(leastShare*float64(f.p.Totals.Peak.Bytes)))
}

// growth finds functions whose live bytes kept rising.
func (f *finder) growth() error {
	if f.p.Duration < leastRun {
		return nil
	}
	// A function may grow at many call stacks: less than this at each is nothing.
	suspects, exact, err := query.QuickGrowth(f.ctx, f.s, f.least()/8)
	if err != nil {
		return err
	}
	type growing struct {
		query.Growing
		even float64
		left uint64 // never freed
	}
	list := newGroups[growing](f)
	for i := range suspects {
		x := &suspects[i]
		g := list.add(x.Stack, float64(x.Stayed))
		if g.Until == 0 || x.Since < g.Since {
			g.Since = x.Since
		}
		g.Until = max(g.Until, x.Until)
		g.Stayed += x.Stayed
		g.StayingBlocks += x.StayingBlocks
		g.even += x.Confidence * float64(x.Stayed)
		g.left += f.leaked(x.Stack)
	}
	if len(list.list) > mostPlaces {
		return nil
	}
	for _, g := range list.list {
		even := g.of.even / max(1, float64(g.of.Stayed))
		span := float64(g.of.Until - g.of.Since)
		if g.of.Stayed < f.least() || even < leastEven || span <= 0 {
			continue
		}
		x := g.finding(Growth)
		x.Saves, x.Unit = float64(g.of.Stayed), query.ByteCount
		x.Share, x.Confidence, x.Measured = x.Saves/f.fullest(), even, exact && !f.p.Sampled()
		x.Says = says(" keeps growing: ", value(x.Saves*1e9/span, Rate), " from ", f.moment(g.of.Since),
			" to ", f.moment(g.of.Until), ". ", f.fate(g.of.Stayed, g.of.StayingBlocks, g.of.left))
		x.freed = !f.p.Live && freed(g.of.Stayed, g.of.left)
		x.Basis = says(f.how(exact), ": it rose steadily: ", value(even, Share))
		x.Show = Question{Page: "flame", Metric: query.Live.String(), Focus: g.focus()}
		if g.of.Since > 0 || g.of.Until < f.p.Duration {
			x.Show.From, x.Show.To = g.of.Since, g.of.Until
		}
		f.list = append(f.list, x)
	}
	return nil
}

// how says from what growth was determined.
func (f *finder) how(exact bool) string {
	switch {
	case f.p.Sampled():
		return "estimated from samples"
	case !exact:
		return "measured at 24 moments of the run"
	}
	return "measured"
}

// leaked is what a call stack never freed.
func (f *finder) leaked(stack uint32) uint64 {
	i, ok := slices.BinarySearchFunc(f.p.Stacks, stack, func(s profile.Stack, id uint32) int {
		return cmp.Compare(s.ID, id)
	})
	if !ok {
		return 0
	}
	return f.p.Stacks[i].Leaked.Bytes
}

// fate says what became of what had stayed, of which so many bytes were left when the program ended.
func (f *finder) fate(bytes, count, left uint64) []Part {
	what := says(value(float64(bytes), Bytes), " in ", blocks(count))
	if count == 0 { // blocks that became larger
		what = says(value(float64(bytes), Bytes))
	}
	switch {
	case f.p.Live:
		return says("More live now: ", what, ".")
	case freed(bytes, left):
		return says("Freed only when the program ends: ", what, ".")
	}
	return says("Never freed: ", what, ".")
}

// freed reports whether most of what stayed was freed in the end.
func freed(stayed, left uint64) bool { return left < stayed/2 }

// leaksFirst sorts findings of growth, at the places that they have: first what was never freed, then what was freed
// when the program ended. That may be a leak, or what the program is there to keep.
func leaksFirst(list []Finding) {
	var at []int
	var leaks, others []Finding
	for i, x := range list {
		if x.Rule != Growth {
			continue
		}
		at = append(at, i)
		if x.freed {
			others = append(others, x)
		} else {
			leaks = append(leaks, x)
		}
	}
	for n, x := range append(leaks, others...) {
		list[at[n]] = x
	}
}

package insight

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Rule is a kind of problem.
type Rule string

// The rules.
const (
	Growth        Rule = "growth"
	Recurring     Rule = "recurring"
	Reallocations Rule = "reallocations"
	Temporaries   Rule = "temporaries"
	Mappings      Rule = "mappings"
	Unreturned    Rule = "unreturned"
)

// Rules are all rules.
var Rules = []Rule{Growth, Recurring, Reallocations, Temporaries, Mappings, Unreturned}

// Finding is something that stands out.
type Finding struct {
	Rule   Rule
	Place  Place
	Stack  uint32 // the call stack that has most of it
	Stacks int    // how many have a part of it

	Saves float64 // what a fix would save: bytes, or ns of a processor's time
	Unit  query.Unit
	Share float64 // of the peak, or of the run's time: findings are sorted by it, except for leaksFirst

	Says       []Part  // a sentence that begins with the place
	Basis      []Part  // how it was determined
	Measured   bool    // what a fix would save was measured, not estimated
	Confidence float64 // from 0 to 1: how likely it is that a fix would save it

	Show Question

	freed bool // of growth: most of it was freed in the end
}

// Place is where a fix would be made. Without a function, it is a module, or a language's own heap.
type Place struct {
	Function, File, Module string
	Line                   uint32
	Name                   string // what it is called
	stack                  uint32 // of a function without a name, which may be a wrapper: each call stack by itself
}

// Question is what shows the evidence of a finding: a page of the app, and the selection there.
type Question struct {
	Page, Metric string
	From, To     int64 // ns; both 0: the whole run
	Focus        string
}

// Most is how many findings there are at most: who fixes these asks again.
const Most = 8

// finder looks for what stands out in a recording.
type finder struct {
	ctx    context.Context
	s      *query.Source
	p      *profile.Profile
	places map[uint32]Place
	list   []Finding
}

// Find returns what stands out, what saves most first. A recording of sums has no growth, and samples do not tell what
// is temporary: then these rules find nothing. The only error is that of a context that has ended.
func Find(ctx context.Context, s *query.Source) ([]Finding, error) {
	f := &finder{ctx: ctx, s: s, p: s.Profile, places: make(map[uint32]Place)}
	rules := []func() error{f.temporaries, f.reallocations, f.mappings}
	if s.Reader.Merged() == nil && f.p.Totals.Events > 0 {
		rules = append(rules, f.growth, f.recurring, f.unreturned)
	}
	for _, rule := range rules {
		// Where events were folded or are damaged, which a report says itself, a rule that needs them finds nothing.
		if rule() != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	slices.SortStableFunc(f.list, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	leaksFirst(f.list)
	return f.list[:min(len(f.list), Most)], nil
}

// place returns where a fix of what a call stack does would be made.
func (f *finder) place(stack uint32) Place {
	if p, ok := f.places[stack]; ok {
		return p
	}
	var p Place
	if l, ok := f.p.Changeable(stack); ok {
		p = Place{Function: l.Function, File: l.File, Module: l.Module, Line: l.Line, Name: l.Function}
		if p.Name == "" {
			p.Name, p.stack = l.AddressName(), stack
		}
	}
	f.places[stack] = p
	return p
}

// focus is the regular expression that selects a place's call stacks.
func (p *Place) focus() string {
	name := p.Function
	if name == "" {
		name = p.Module
	}
	if name == "" {
		return ""
	}
	return "^" + regexp.QuoteMeta(name) + "$"
}

// group sums up call stacks by place.
type group[T any] struct {
	Place
	stack  uint32 // that has most
	most   float64
	stacks int
	of     T
}

// groups sums up call stacks by place, in the order in which the places come.
type groups[T any] struct {
	f    *finder
	list []*group[T]
	at   map[Place]*group[T]
}

func newGroups[T any](f *finder) *groups[T] { return &groups[T]{f: f, at: make(map[Place]*group[T])} }

// add adds a call stack of that weight to the group of its place, which is returned.
func (g *groups[T]) add(stack uint32, weight float64) *T {
	p := g.f.place(stack)
	x := g.at[p]
	if x == nil {
		x = &group[T]{Place: p}
		g.at[p] = x
		g.list = append(g.list, x)
	}
	if x.stacks++; x.stacks == 1 || weight > x.most {
		x.stack, x.most = stack, weight
	}
	return &x.of
}

// finding begins a finding about a group.
func (g *group[T]) finding(rule Rule) Finding {
	return Finding{Rule: rule, Place: g.Place, Stack: g.stack, Stacks: g.stacks}
}

// fullest is the most that was live or resident: the measure of bytes.
func (f *finder) fullest() float64 {
	most := float64(f.p.Totals.Peak.Bytes)
	if set := f.p.LargestResident(); set != nil {
		most = max(most, float64(set.Bytes))
	}
	return max(most, 1)
}

// seconds returns a time as flags and parameters take it.
func seconds(ns int64) string { return time.Duration(ns).String() }

// Command is a command of heaptap that shows the same, with its flags.
func (q *Question) Command() []string {
	list := []string{"tree", "--metric", q.Metric}
	if q.Page == "leaks" {
		list = []string{"leaks"}
	}
	if q.From != 0 || q.To != 0 {
		list = append(list, "--from", seconds(q.From), "--to", seconds(q.To))
	}
	if q.Focus != "" {
		list = append(list, "--focus", q.Focus)
	}
	return list
}

// Times returns the ends of the range, as parameters; "": the run's.
func (q *Question) Times() (from, to string) {
	if q.From == 0 && q.To == 0 {
		return "", ""
	}
	return seconds(q.From), seconds(q.To)
}

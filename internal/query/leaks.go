package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// LeakFilter says which leaks are known or are not the program's fault.
type LeakFilter struct {
	Rules   *Suppressions // they sum up what they suppress; nil: none
	Runtime bool          // what the runtime keeps counts, too
	Broad   bool          // rules that match an entry function, and so nearly every leak, are accepted

	matches *ruleMatches
}

// suppress reports whether a rule suppresses a stack, and adds its bytes and blocks to that rule.
func (l *LeakFilter) suppress(s *Source, stack uint32, bytes, blocks uint64) bool {
	if len(l.Rules.Rules()) == 0 {
		return false
	}
	if l.matches == nil {
		l.matches = &ruleMatches{s: s, rules: l.Rules, pcs: make(map[uint32]int), nodes: make(map[uint32]int)}
	}
	return l.Rules.leaveOut(l.matches.stack(stack), stack, bytes, blocks)
}

// FindLeaks answers with the call stacks whose blocks were allocated in the range and never freed, the largest leaks
// first, without those that the filter knows. more are metrics besides leaked, leaked-blocks and allocations.
func FindLeaks(ctx context.Context, s *Source, q *Query, known LeakFilter, more ...Metric) (*Table, error) {
	if err := known.refuse(s); err != nil {
		return nil, err
	}
	about := *q
	about.By, about.Metrics = ByStack, append([]Metric{Leaked, LeakedBlocks, Allocations}, more...)
	about.Runtime = known.Runtime
	t, err := Flat(ctx, s, &about)
	if err != nil {
		return nil, err
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
		bytes, blocks := r.Total.LeakedBytes, r.Total.LeakedBlocks
		return blocks == 0 || known.suppress(s, r.Stack, bytes, blocks)
	})
	return t, nil
}

// FindGrowth answers with the call stacks whose live bytes rose steadily over the range, without those that the filter
// knows.
func FindGrowth(ctx context.Context, s *Source, q *Query, known LeakFilter) ([]Suspect, error) {
	if err := known.refuse(s); err != nil {
		return nil, err
	}
	about := *q
	about.By = ByStack
	list, err := Growth(ctx, s, &about)
	if err != nil {
		return nil, err
	}
	own := s.runtime()
	return slices.DeleteFunc(list, func(x Suspect) bool {
		return own.has(x.Stack) && !known.Runtime || known.suppress(s, x.Stack, 0, 0)
	}), nil
}

// stackSet is a set of call stacks: bits by their ids, since it is asked about each event.
type stackSet []uint64

func (s stackSet) has(stack uint32) bool {
	i := stack / 64
	return i < uint32(len(s)) && s[i]>>(stack%64)&1 != 0
}

func (s *stackSet) add(stack uint32) {
	i := int(stack / 64)
	if i >= len(*s) {
		*s = append(*s, make([]uint64, i+1-len(*s))...)
	}
	(*s)[i] |= 1 << (stack % 64)
}

// runtime returns the stacks at which the runtime allocates for itself.
func (s *Source) runtime() stackSet {
	s.runtimeOnce.Do(func() {
		for i := range s.Profile.Stacks {
			if st := &s.Profile.Stacks[i]; st.Class == profile.Runtime {
				s.runtimeMade.add(st.ID)
			}
		}
	})
	return s.runtimeMade
}

// LeakTables has everything that a page on leaks shows.
type LeakTables struct {
	*Table                 // see FindLeaks
	Rules    []Suppression // with what they suppressed
	Suspects []Suspect     // what kept growing; unknown if there are only sums
}

// AskLeaks answers with the leaks, and, if growth is set, with the call stacks that keep growing.
func AskLeaks(ctx context.Context, s *Source, q *Query, known LeakFilter, growth bool) (*LeakTables, error) {
	found, err := FindLeaks(ctx, s, q, known)
	if err != nil {
		return nil, err
	}
	l := &LeakTables{Table: found, Rules: known.Rules.Rules()}
	if growth && s.Reader.Merged() == nil {
		l.Suspects, err = FindGrowth(ctx, s, q, known)
	}
	return l, err
}

package query

import (
	"context"
	"slices"

	"github.com/heaptap/heaptap/internal/profile"
)

// LeakFilter says which leaks are known or are not the program's fault.
type LeakFilter struct {
	Rules   *Suppressions // they sum up what they suppress; nil: none
	Runtime bool          // what the loader and the language's runtime keep for themselves counts, too

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
	return l.Rules.leaveOut(l.matches.stack(stack), bytes, blocks)
}

// Leaks are the call stacks whose blocks were allocated in the range and never freed.
type Leaks struct {
	*Table              // by stack, largest first, without what is suppressed
	Left   profile.Leak // what is left out because it belongs to the runtime
}

// minConfidence is the least confidence at which growth is reported.
const minConfidence = .8

// FindLeaks answers with the leaks that the query selects and the filter does not know. more are metrics besides
// leaked, leaked-blocks and allocations.
func FindLeaks(ctx context.Context, s *Source, q *Query, known LeakFilter, more ...Metric) (*Leaks, error) {
	about := *q
	about.By, about.Metrics = ByStack, append([]Metric{Leaked, LeakedBlocks, Allocations}, more...)
	t, err := Flat(ctx, s, &about)
	if err != nil {
		return nil, err
	}
	l := &Leaks{Table: t}
	own := s.runtime()
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool {
		bytes, blocks := r.Total.LeakedBytes, r.Total.LeakedBlocks
		switch {
		case blocks == 0:
		case own[r.Stack] && !known.Runtime:
			l.Left.Bytes += bytes
			l.Left.Blocks += blocks
		default:
			return known.suppress(s, r.Stack, bytes, blocks)
		}
		return true
	})
	return l, nil
}

// FindGrowth answers with the call stacks whose live bytes rose steadily over the range, without those that the filter
// knows.
func FindGrowth(ctx context.Context, s *Source, q *Query, known LeakFilter) ([]Suspect, error) {
	about := *q
	about.By = ByStack
	list, _, err := Growth(ctx, s, &about, minConfidence)
	if err != nil {
		return nil, err
	}
	own := s.runtime()
	return slices.DeleteFunc(list, func(x Suspect) bool {
		return own[x.Stack] && !known.Runtime || known.suppress(s, x.Stack, 0, 0)
	}), nil
}

// runtime returns the stacks at which the loader and the language's runtime allocate for themselves.
func (s *Source) runtime() map[uint32]bool {
	own := make(map[uint32]bool)
	for i := range s.Profile.Stacks {
		if st := &s.Profile.Stacks[i]; st.Class == profile.Runtime {
			own[st.ID] = true
		}
	}
	return own
}

// LeakTables has everything that a page on leaks shows.
type LeakTables struct {
	*Leaks
	Rules    []Suppression // with what they suppressed
	Suspects []Suspect     // what kept growing; unknown if there are only sums
}

// AskLeaks answers with the leaks, and, if growth is set, with the call stacks that keep growing.
func AskLeaks(ctx context.Context, s *Source, q *Query, known LeakFilter, growth bool) (*LeakTables, error) {
	found, err := FindLeaks(ctx, s, q, known)
	if err != nil {
		return nil, err
	}
	l := &LeakTables{Leaks: found, Rules: known.Rules.Rules()}
	if growth && s.Reader.Merged() == nil {
		l.Suspects, err = FindGrowth(ctx, s, q, known)
	}
	return l, err
}

// Suggestion is a rule that would suppress leaks, and their sums.
type Suggestion struct {
	Rule          string
	Bytes, Blocks uint64
}

// Suggestions returns a rule for each leak, each rule once, the largest leaks first.
func (l *Leaks) Suggestions(s *Source) (list []Suggestion) {
	at := make(map[string]int)
	for i := range l.Rows {
		r := &l.Rows[i]
		rule := Suggest(s.Frames(r.Stack), profile.Library)
		if rule == "" {
			continue
		}
		k, ok := at[rule]
		if !ok {
			k = len(list)
			at[rule] = k
			list = append(list, Suggestion{Rule: rule})
		}
		list[k].Bytes += r.Total.LeakedBytes
		list[k].Blocks += r.Total.LeakedBlocks
	}
	return list
}

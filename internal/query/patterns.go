package query

import (
	"regexp"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Pattern is a filter of call stacks that a user wrote: one of those of Focus, Ignore and Modules.
type Pattern struct {
	Flag, Text string
	matches    func(f *profile.Frame) bool
}

// Patterns returns the filters of call stacks.
func (q *Query) Patterns() (list []Pattern) {
	for _, r := range q.Focus {
		list = append(list, Pattern{"focus", r.String(), func(f *profile.Frame) bool { return matches(r, f) }})
	}
	for _, r := range q.Ignore {
		list = append(list, Pattern{"ignore", r.String(), func(f *profile.Frame) bool { return matches(r, f) }})
	}
	for _, m := range q.Modules {
		list = append(list, Pattern{"module", m, func(f *profile.Frame) bool { return matchModule(m, f.Module) }})
	}
	return list
}

// OnStacks reports whether a frame of a recorded call stack, or the name of a recorded module, matches the pattern.
func (p *Pattern) OnStacks(s *Source) (found bool) {
	for _, m := range s.Profile.Modules {
		if p.matches(&profile.Frame{Module: m.Path}) {
			return true
		}
	}
	s.Reader.PCs().All(func(id uint32, _ event.PC) bool {
		found = slices.ContainsFunc(s.frames(id), func(f profile.Frame) bool { return p.matches(&f) })
		return !found
	})
	return found
}

// Matches reports whether a function, or a source file, matches the pattern.
func (p *Pattern) Matches(f *event.Frame) bool {
	return p.matches(&profile.Frame{Function: f.Function, Linkage: f.Linkage, File: f.File})
}

// StacksMatching returns a function that reports whether a call stack matches a pattern, as one of Query.Focus, and
// whether any of the recorded ones does.
func (s *Source) StacksMatching(pattern *regexp.Regexp) (matches func(stack uint32) bool, any bool) {
	q := &Query{Focus: []*regexp.Regexp{pattern}}
	focus := q.Patterns()[0]
	return s.stackFilter(q).keep, focus.OnStacks(s)
}

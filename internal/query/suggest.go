package query

import (
	"fmt"
	"path"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/profile"
)

// Suggestion is a rule that would suppress leaks, and what it would hide of all that is leaked.
type Suggestion struct {
	Rule          string // "": there is no rule for it that is not broad
	Bytes, Blocks uint64
	Stacks        int    // call stacks
	Stack         uint32 // the largest one
}

// Suggestions returns a rule for each leak, each rule once, the largest leaks first. Broad rules, which an entry
// function matches, are suggested only if broad is set.
func (l *LeakTables) Suggestions(s *Source, broad bool) (list []Suggestion) {
	known := make(map[string]bool)
	for i := range l.Rows {
		r := &l.Rows[i]
		text := Suggest(s.Frames(r.Stack), s.Profile.Process.Exe, broad)
		one := Suggestion{Rule: text, Stack: r.Stack}
		if text == "" {
			one.Bytes, one.Blocks, one.Stacks = r.Total.LeakedBytes, r.Total.LeakedBlocks, 1
			list = append(list, one)
			continue
		}
		if known[text] {
			continue
		}
		known[text] = true
		rule := Suppressions{rules: []Suppression{{Pattern: strings.TrimPrefix(text, "leak:")}}}
		filter := LeakFilter{Rules: &rule}
		for k := range l.Rows {
			v := &l.Rows[k].Total
			filter.suppress(s, l.Rows[k].Stack, v.LeakedBytes, v.LeakedBlocks)
		}
		x := &rule.rules[0]
		one.Bytes, one.Blocks, one.Stacks = x.Bytes, x.Blocks, x.Stacks
		list = append(list, one)
	}
	return list
}

var (
	entries  = map[string]bool{"main": true, "main.main": true, "MAIN__": true}
	rustMain = lazy.Regexp(`^\w+::main$`)
)

// isEntry reports whether a function begins a thread or the program, so that it is on nearly every call stack.
func isEntry(function string) bool {
	return entries[function] || profile.BeforeMain(function) || strings.HasPrefix(function, "std::rt::lang_start") ||
		rustMain().MatchString(function)
}

// wrapper matches names of functions that only allocate for their callers.
var wrapper = lazy.Regexp(`(?i)(alloc|strn?dup|^operator new)`)

// Suggest returns the rule that would suppress a stack: by the innermost function of the program's own code (exe) that
// is not an entry function, and not a wrapper of the allocator if there is another one; without one in the executable,
// of the libraries that do not belong to a runtime. If only an entry function is left, the rule is its place in the
// source, or, if broad is set, its name. "" if there is no such rule.
func Suggest(frames []profile.Frame, exe string, broad bool) string {
	own := func(f *profile.Frame) bool { return f.Module == exe && !profile.Library(f) }
	foreign := func(f *profile.Frame) bool { return f.Module != exe && !profile.Library(f) }
	end := frames // without what calls entry functions
	for k := len(end) - 1; k >= 0; k-- {
		if f := &end[k]; !profile.BeforeMain(f.Function) && !profile.RuntimeModule(f.Module) {
			break
		}
		end = end[:k]
	}
	for _, class := range []func(*profile.Frame) bool{own, foreign} {
		var found *profile.Frame
		for i := range end {
			f := &end[i]
			if f.Function == "" || isEntry(f.Function) || !class(f) || i == len(end)-1 && len(end) < len(frames) {
				continue // the last one is what a thread begins with
			}
			if found == nil {
				found = f
			}
			if !wrapper().MatchString(f.Function) {
				found = f
				break
			}
		}
		if found != nil {
			return "leak:^" + escape(found.Function) + "$"
		}
	}
	for i := range frames { // only an entry function is left
		f := &frames[i]
		switch {
		case profile.Library(f):
		case f.Line > 0:
			return fmt.Sprintf("leak:%s:%d$", escape(path.Base(f.File)), f.Line)
		case broad && f.Function != "":
			return "leak:^" + escape(f.Function) + "$"
		case broad && f.Module != "":
			return "leak:" + escape(path.Base(f.Module))
		}
	}
	return ""
}

// escape replaces characters of a name that have a meaning in patterns by *, which matches them.
func escape(name string) string {
	return strings.NewReplacer("^", "*", "$", "*", "\n", "*").Replace(name)
}

// BroadError is the error of a rule that an entry function matches, so that it hides nearly every leak.
type BroadError struct {
	Rule  Suppression
	Entry string // what it matches
}

func (e *BroadError) Error() string {
	return fmt.Sprintf("%s: leak:%s matches %s, which is on nearly every call stack, and would hide new leaks, too; "+
		"name the function that leaks, or accept such rules with --broad", e.Rule.Where, e.Rule.Pattern, e.Entry)
}

// refuse returns an error if a rule is broad, by the names of entry functions or by the entry functions of a recording.
func (l *LeakFilter) refuse(s *Source) error {
	if l.Broad || len(l.Rules.Rules()) == 0 {
		return nil
	}
	list := []profile.Frame{{Function: "main"}, {Function: "_start"}, {Function: "start_thread"}}
	s.Reader.PCs().All(func(id uint32, _ event.PC) bool {
		for _, f := range s.frames(id) {
			if isEntry(f.Function) {
				list = append(list, f)
			}
		}
		return true
	})
	for _, r := range l.Rules.Rules() {
		for i := range list {
			f := &list[i]
			for _, name := range []string{f.Function, f.Linkage, f.File, f.Module} {
				if r.matches(name) {
					if name != f.Function {
						name += " of " + f.Function
					}
					return &BroadError{Rule: r, Entry: name}
				}
			}
		}
	}
	return nil
}

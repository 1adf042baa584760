package gate

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// A filter that matches nothing selects nothing, so that every limit holds: a function that was renamed would switch
// the gate off. So a filter must match a recorded call stack, or a function, inlined or not, of a file that a checked
// process had loaded, which then allocated nothing. Recordings name only functions on call stacks; the others are read
// from the files, by build id, and only if a filter has matched nothing else. So that answer needs the machine that
// recorded, or its files.

// searchTime bounds the search for the functions of all files.
const searchTime = 2 * time.Minute

// filters are the filters of call stacks, and the files in which those may occur that no call stack matched.
type filters struct {
	list  []query.Pattern // that nothing has matched
	known map[string]bool // by flag and text: those that were ever in the list
	files map[string]event.Module
}

// note notes what the recording of a checked process matches.
func (f *filters) note(s *query.Source, q *query.Query) {
	if f.known == nil {
		f.known, f.files = make(map[string]bool), make(map[string]event.Module)
	}
	for _, p := range q.Patterns() {
		if key := p.Flag + " " + p.Text; !f.known[key] {
			f.known[key] = true
			f.list = append(f.list, p)
		}
	}
	f.list = slices.DeleteFunc(f.list, func(p query.Pattern) bool { return p.OnStacks(s) })
	if len(f.known) == 0 {
		return
	}
	for _, m := range s.Profile.Modules {
		if m.Path != "" && m.Path[0] != '[' && !strings.HasPrefix(filepath.Base(m.Path), "libheaptap") {
			f.files[m.Path+" "+string(m.BuildID)] = m
		}
	}
}

// unmatched searches the files for the filters that no call stack matched. It returns a sentence on each that none of
// their functions matches either.
func (f *filters) unmatched(ctx context.Context) (list []string) {
	if len(f.list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	files := make([]event.Module, 0, len(f.files))
	for _, m := range f.files {
		files = append(files, m)
	}
	slices.SortFunc(files, func(a, b event.Module) int { return strings.Compare(a.Path, b.Path) })
	finder := symbolize.New(symbolize.Options{})
	var unknown, unlined []string
	for _, m := range files {
		known := finder.Functions(ctx, m, func(frame event.Frame) bool {
			f.list = slices.DeleteFunc(f.list, func(p query.Pattern) bool { return p.Matches(&frame) })
			return len(f.list) > 0
		})
		switch name := filepath.Base(m.Path); {
		case len(f.list) == 0:
			return nil
		case ctx.Err() != nil || known < symbolize.WithoutLines:
			unknown = append(unknown, name)
		case known < symbolize.AllNames:
			unlined = append(unlined, name)
		}
	}
	for _, p := range f.list {
		text := fmt.Sprintf("--%s '%s' matches nothing: no recorded call stack", p.Flag, p.Text)
		if p.Flag == "module" {
			list = append(list, text+" and no file that was loaded")
			continue
		}
		text += fmt.Sprintf(", and no function of the %s that were loaded", humanize.Plural(uint64(len(files)), "file"))
		if len(unknown) > 0 {
			text += fmt.Sprintf("; but symbols are missing here for %s, so that it may be in there", some(unknown))
		} else if len(unlined) > 0 {
			text += fmt.Sprintf("; but debug information is missing for %s, so that it may be inlined there",
				some(unlined))
		}
		list = append(list, text)
	}
	return list
}

// some names the first of several files.
func some(list []string) string {
	const most = 3
	if n := len(list) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n)
	}
	return strings.Join(list, ", ")
}

// usage sums up which suppressions hid something in any checked recording.
type usage struct{ rules []query.Suppression }

func (u *usage) note(list []query.Suppression) {
	if u.rules == nil {
		u.rules = make([]query.Suppression, len(list))
	}
	for i := range min(len(list), len(u.rules)) {
		u.rules[i].Pattern, u.rules[i].Where = list[i].Pattern, list[i].Where
		u.rules[i].Stacks += list[i].Stacks
	}
}

// unused returns the rules that hid nothing.
func (u *usage) unused() (list []string) {
	for i := range u.rules {
		if r := &u.rules[i]; r.Stacks == 0 {
			list = append(list, fmt.Sprintf("leak:%s (%s)", r.Pattern, r.Where))
		}
	}
	return list
}

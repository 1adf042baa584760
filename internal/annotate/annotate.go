// Package annotate shows what a recording counts beside the text of source lines.
//
// A question names a target: a source file or a function. Ask counts its lines; Pages then divides them into pages, one
// for each file or function, and finds the source text (package source).
package annotate

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/source"
	"github.com/heaptap/heaptap/internal/symbolize"
)

// UnknownError is the error of a text that names nothing on the recording's call stacks, or nothing with source lines.
type UnknownError struct{ error }

// Ask returns the lines of the target that a text names: FILE, FILE:LINE or FUNCTION; else an *UnknownError. With
// calls, it also returns what is called from these lines.
func Ask(ctx context.Context, s *query.Source, q *query.Query, text string, finder *source.Finder,
	calls bool) (*Tables, error) {
	t, err := findTarget(s, text)
	if err != nil {
		return nil, &UnknownError{err}
	}
	p := s.Reader.Process()
	finder.Named = func(file string) bool { return madeOf(ctx, s, file) }
	if finder.Dir = p.Dir; p.Started > 0 {
		finder.Recorded = time.Unix(0, p.Started)
	}
	about := *q
	about.By = query.ByLine
	tables, err := query.Joined(ctx, s, &about, calls, t.ofLine, t.ofWhole)
	if err != nil {
		return nil, err
	}
	l := &Tables{Lines: tables[0], Wholes: tables[1], Finder: finder, Line: t.line}
	if calls {
		l.Calls = tables[2]
	}
	return l, nil
}

// madeOf reports whether a program or library on this machine was compiled from a file: its build id must be in the
// recording, and its debug information must name the file for an address on one of the recording's call stacks.
func madeOf(ctx context.Context, s *query.Source, file string) bool {
	r := s.Reader
	dir := r.Process().Dir
	is := func(name string) bool {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return filepath.Clean(name) == file
	}
	known := make(map[uint32]event.Module)
	for _, m := range r.Modules() {
		if len(m.BuildID) > 0 {
			known[m.ID] = m
		}
	}
	var pcs []event.PC
	r.PCs().All(func(id uint32, p event.PC) bool {
		if _, ok := known[p.Module]; ok && slices.ContainsFunc(r.Frames(id),
			func(f event.Frame) bool { return is(f.File) }) {
			pcs = append(pcs, p)
		}
		return len(pcs) < 64 // any of them is enough
	})
	if len(pcs) == 0 {
		return false
	}
	found, _ := symbolize.New(symbolize.Options{}).Resolve(ctx, slices.Collect(maps.Values(known)), pcs)
	return slices.ContainsFunc(found, func(frames []event.Frame) bool {
		return slices.ContainsFunc(frames, func(f event.Frame) bool { return is(f.File) })
	})
}

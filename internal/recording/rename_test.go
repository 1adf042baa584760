package recording_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// upper makes names upper case.
type upper struct{}

func (upper) Path(s string) string     { return strings.ToUpper(s) }
func (upper) Word(s string) string     { return strings.ToUpper(s) }
func (upper) Function(s string) string { return "f:" + strings.ToUpper(s) }
func (upper) Text(s string) string     { return strings.ToUpper(s) }

// TestRename renames a folded recording: only names change, and what was folded stays folded.
func TestRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.htap"), filepath.Join(dir, "b.htap")
	w, err := recording.Create(a, event.Process{PID: 7, Exe: "/bin/a", Args: []string{"a", "x"}, Dir: "/d", Host: "h",
		Env: []string{"Name=v"}}, recording.Options{Fold: recording.Fold{Keep: 1}.ToTheByte()})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 7, Name: "t"})
	w.Module(event.Module{ID: 1, Path: "/lib/m.so", BuildID: []byte{1, 2}, Start: 1, End: 9, Unload: -1})
	w.PC(1, event.PC{Addr: 3, Module: 1})
	w.PC(2, event.PoolPC(5))
	w.Node(1, event.Node{PC: 1})
	w.Mark(event.Mark{Name: "m", Cut: event.NoCut, Source: event.FromUser})
	w.Mark(event.Mark{Name: "n", Cut: event.NoCut, Source: event.FromMode})
	w.Region(event.RegionNote{Name: "r", Count: 1, IDs: [event.RegionIDs]int64{7}})
	w.Range(event.NamedRange{Name: "memory", Start: 1, Size: 2})
	for i := range 20_000 {
		e := event.Event{Time: int64(i) * 1000, Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: uint64(i),
			Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
		if i%100 == 99 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	frames := map[uint32][]event.Frame{1: {{Function: "f", Linkage: "_f", File: "f.c", Line: 3, Inlined: true},
		{Function: "g"}}, 2: {event.PoolFrame("events")}}
	variables := []event.Variable{{Module: 1, Addr: 4, Size: 2, Name: "v", Linkage: "_v", File: "v.c", Line: 1}}
	if err := errors.Join(w.Symbols(frames), w.Pools([]event.Pool{{Name: "events"}}), w.Variables(variables, nil),
		w.Finish(recording.Ending{End: 1e9, Exited: true, Health: event.Health{Notes: []string{"note"}}})); err != nil {
		t.Fatal(err)
	}
	open := func(path string) *recording.Reader {
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	before := open(a)
	if err := recording.Rename(before, b, upper{}); err != nil {
		t.Fatal(err)
	}
	after := open(b)
	if !after.Complete() {
		t.Fatal(after.Damage())
	}
	v := after.Variables()[0]
	end, _ := after.Ending()
	p := after.Process()
	got := []string{p.Exe, p.Args[0], p.Args[1], p.Dir, p.Host, p.Env[0], after.Threads()[0].Name,
		after.Modules()[0].Path, after.Marks()[0].Name, after.Marks()[1].Name,
		after.Regions()[0].Title(), after.Ranges()[0].Name,
		after.Pools()[0].Name, after.Frames(2)[0].Function,
		after.Frames(1)[0].Function, after.Frames(1)[0].Linkage, after.Frames(1)[0].File,
		after.Frames(1)[1].Function, v.Name, v.Linkage, v.File,
		end.Health.Notes[0]}
	want := []string{"/BIN/A", "A", "X", "/D", "H", "Name=V", "T", "/LIB/M.SO", "M", "n", "R/7", "MEMORY", "EVENTS",
		"[pool EVENTS]", "f:F", "f:_F", "F.C", "f:G", "f:V", "f:_V", "V.C", "NOTE"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
	x, err := before.Tally()
	y, err2 := after.Tally()
	if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(x, y) {
		t.Errorf("%v: sums differ: %+v, %+v", err, x.Totals, y.Totals)
	}
	if c := before.Folded(); c.Cut == 0 || c != after.Folded() {
		t.Errorf("folded: %+v, %+v", c, after.Folded())
	}
	if len(before.Blocks()) != len(after.Blocks()) {
		t.Errorf("%d blocks, %d", len(before.Blocks()), len(after.Blocks()))
	}
	if err := recording.Rename(open(b), b, upper{}); err != nil { // in its own place
		t.Error(err)
	}
}

// TestRenameDamaged: a recording that is not whole is not renamed.
func TestRenameDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Rename(r, path+".b", upper{}); err == nil || !strings.Contains(err.Error(), "still being") {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), w.Abort()); err != nil {
		t.Fatal(err)
	}
	if r, err = recording.Open(path); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := recording.Rename(r, path+".b", upper{}); err == nil || !strings.Contains(err.Error(), "heaptap repair") {
		t.Error(err)
	}
}

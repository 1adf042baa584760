package dump

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/recording"
)

// sample makes a recording in which every kind of event and field occurs.
func sample(t *testing.T) (path string, events []event.Event) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 4711, Args: []string{"./prog", "a b"}, Exe: "/bin/prog",
		Recorder: "1.2"}, recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 4711, Name: "prog"})
	w.Thread(1, event.Thread{TID: 4712, Name: "worker\x1b[1m", Start: 300})
	w.Module(event.Module{ID: 1, Path: "/bin/prog", BuildID: []byte{0xab, 0xcd}, Start: 0x1000, End: 0x2000,
		Bias: 0x1000, Unload: -1})
	w.Module(event.Module{ID: 2, Path: "/lib/plugin.so", Start: 0x7000, End: 0x8000, Bias: 0x7000, Loaded: 100,
		Unload: 2e9})
	w.PC(1, event.PC{Addr: 0x1234, Module: 1})
	w.PC(2, event.PC{Addr: 0x7010, Module: 2, Interrupted: true})
	w.PC(3, event.PC{Addr: 0x9999})
	w.Node(1, event.Node{PC: 1})
	w.Node(2, event.Node{Parent: 1, PC: 2})
	w.Node(3, event.Node{Parent: 2, PC: 3, Truncated: true})
	w.Sample(event.Sample{Time: 1e7, RSS: 1 << 20, Virtual: 1 << 30, PSS: -1, MinorFaults: 5})
	const none = event.NoRef
	events = []event.Event{
		{Time: 100, Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: 100, Usable: 104, Flags: event.HasUsable,
			Addr: 0x5000, Ref: none},
		{Time: 200, Kind: event.Alloc, Func: event.Calloc, Stack: 2, Size: 80, Count: 10, Addr: 0x5100, Ref: none},
		{Time: 200, Kind: event.Alloc, Func: event.PosixMemalign, Stack: 2, Size: 50, Align: 64, Addr: 0x5200,
			Ref: none},
		{Time: 300, Kind: event.Free, Func: event.FreeFunc, Thread: 1, Stack: 1, Size: 100, Usable: 104,
			Flags: event.HasUsable, Addr: 0x5000,
			Ref: 0, Born: 100, FreeStack: 3},
		{Time: 1_234_567_800, Kind: event.Free, Func: event.ReallocFunc, Stack: 2, Size: 80, Addr: 0x5100, Ref: 1,
			Born: 200, Flags: event.Realloc},
		{Time: 1_234_567_800, Kind: event.Alloc, Func: event.ReallocFunc, Stack: 3, Size: 160, Addr: 0x5100, Ref: none,
			Flags: event.Realloc | event.InPlace},
		{Time: 1_300_000_000, Kind: event.Free, Func: event.DeleteArraySizedAligned, Stack: 3, Size: 160, Addr: 0x5100,
			Ref: 3, Born: 1_234_567_800,
			Flags: event.Temporary},
		{Time: 1_300_000_000, Kind: event.Alloc, Func: event.NewArrayAlignedNothrow, Stack: 3, Size: 0, Align: 32,
			Addr: 0x5300, Ref: none,
			Flags: event.Late},
		{Time: 1_300_000_000, Kind: event.Fail, Func: event.Malloc, Stack: 3, Size: 1<<64 - 1, Ref: none},
		{Time: 1_300_000_000, Kind: event.Unmatched, Func: event.FreeFunc, Addr: 0x1010, Ref: none, FreeStack: 2},
		{Time: 1_300_000_000, Kind: event.Inherited, Func: event.Delete, Ref: none},
		{Time: 1_300_000_000, Kind: event.Free, Func: event.FuncUnknown, Stack: 2, Size: 50, Addr: 0x5200, Ref: 2,
			Born: 200},
		{Time: 1_400_000_000, Kind: event.Map, Func: event.Mmap, Stack: 1, Size: 4096, Addr: 0x7f0000000000, Ref: none},
		{Time: 1_400_000_000, Kind: event.Map, Func: event.Mremap, Stack: 1, Size: 8192, Ref: none,
			OldAddr: 0x7f0000000000, OldSize: 4096},
		{Time: 1_400_000_000, Kind: event.Map, Func: event.Munmap, Stack: 1, Size: 4096, Addr: 0x7f0000000000,
			Ref: none},
		{Time: 1_400_000_000, Kind: event.Map, Func: event.Munmap, Stack: 1, Size: 4096, Ref: none},
		{Time: 1_400_000_000, Kind: event.Map, Func: event.Brk, Stack: 1, Addr: 0x2000, OldAddr: 0x1000, Ref: none},
		{Time: 1_500_000_000, Kind: event.Alloc, Func: event.Reallocarray, Stack: 3, Size: 60, Count: 3, Addr: 0x5400,
			Ref: none},
		{Time: 1_500_000_000, Kind: event.Alloc, Func: event.New, Stack: 3, Size: 8, Addr: 0x5500, Ref: none},
	}
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i == 9 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Symbols(map[uint32][]event.Frame{1: {{Function: "main", File: "/src/p.c", Line: 7}},
		2: {{Function: "f<int>(g)", Linkage: "_Z1f", Inlined: true}, {Function: "h"}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 2e9, Exited: true, Code: 3,
		Health: event.Health{Notes: []string{"A note."}}}); err != nil {
		t.Fatal(err)
	}
	return path, events
}

func open(t *testing.T, path string) *recording.Reader {
	t.Helper()
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// dumpOf returns the parts that do not depend on how columns are packed, each after a line with its name.
func dumpOf(t *testing.T, r *recording.Reader, asJSON bool) string {
	t.Helper()
	var b bytes.Buffer
	for _, part := range []struct {
		name  string
		write func(*Dumper) error
	}{
		{"threads", (*Dumper).Threads}, {"modules", (*Dumper).Modules}, {"stacks", (*Dumper).Stacks}, {"samples",
			(*Dumper).Samples},
		{"events", func(d *Dumper) error { return d.Events(t.Context(), 0, 1000) }},
	} {
		b.WriteString("-- " + part.name + " --\n")
		d := New(&b, r, asJSON)
		if err := errors.Join(part.write(d), d.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	path, _ := sample(t)
	r := open(t, path)
	for name, asJSON := range map[string]bool{"dump.txt": false, "dump.jsonl": true} {
		goldentest.Check(t, name, []byte(dumpOf(t, r, asJSON)))
	}
}

// TestJSONRoundTrip reads the JSON lines back: no field of an event is missing, numbers are exact.
func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	path, want := sample(t)
	r := open(t, path)
	var b bytes.Buffer
	d := New(&b, r, true)
	if err := errors.Join(d.Events(t.Context(), 0, 1000), d.Flush()); err != nil {
		t.Fatal(err)
	}
	functions := map[string]event.Func{}
	for f := range event.FuncCount {
		functions[f.String()] = f
	}
	kinds := map[string]event.Kind{}
	for k := range event.KindCount {
		kinds[k.String()] = k
	}
	hexOf := func(s string) uint64 {
		v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
		if err != nil && s != "" {
			t.Error(err)
		}
		return v
	}
	i, blocks := 0, uint64(0)
	for line := range strings.Lines(b.String()) {
		var o struct {
			Event     int
			Time      int64 `json:"time_ns"`
			Kind      string
			Function  string
			Thread    uint32
			TID       uint32
			Stack     uint32
			FreeStack uint32 `json:"free_stack"`
			Block     *uint64
			Size      uint64
			Usable    *uint64
			Address   string
			Born      int64  `json:"born_ns"`
			BornBy    uint32 `json:"born_by"`
			Alignment uint64
			Count     uint64
			OldAddr   string `json:"old_address"`
			OldSize   uint64 `json:"old_size"`
			Realloc   bool
			Temporary bool
			InPlace   bool `json:"in_place"`
			Late      bool
		}
		in := json.NewDecoder(strings.NewReader(line))
		in.DisallowUnknownFields()
		if err := in.Decode(&o); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got := event.Event{Time: o.Time, Kind: kinds[o.Kind], Func: functions[o.Function], Thread: o.Thread,
			Stack: o.Stack, FreeStack: o.FreeStack,
			Ref: event.NoRef, Addr: hexOf(o.Address), Size: o.Size, Born: o.Born, BornBy: o.BornBy,
			Align: o.Alignment, Count: o.Count,
			OldAddr: hexOf(o.OldAddr), OldSize: o.OldSize}
		if o.Usable != nil {
			got.Usable, got.Flags = *o.Usable, event.HasUsable
		}
		for flag, set := range map[event.Flags]bool{event.Realloc: o.Realloc, event.Temporary: o.Temporary,
			event.InPlace: o.InPlace, event.Late: o.Late} {
			if set {
				got.Flags |= flag
			}
		}
		switch got.Kind {
		case event.Free:
			got.Ref = *o.Block
		case event.Alloc:
			if *o.Block != blocks {
				t.Errorf("%s: expected block %d", line, blocks)
			}
			blocks++
		}
		if o.Event != i || o.TID != 4711+o.Thread || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%sis %+v, want %+v", line, got, want[i])
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d events, want %d", i, len(want))
	}
}

// TestRange: any two cuts give the lines between them, with the same numbers.
func TestRange(t *testing.T) {
	t.Parallel()
	path, events := sample(t)
	r := open(t, path)
	lines := func(from, to int) string {
		var b strings.Builder
		d := New(&b, r, false)
		if err := errors.Join(d.Events(t.Context(), uint64(from), uint64(to)), d.Flush()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	all := strings.SplitAfter(lines(0, len(events)), "\n")
	for from := range len(events) {
		for to := from; to <= len(events)+1; to++ {
			if got, want := lines(from, to), strings.Join(all[from:min(to, len(events))], ""); got != want {
				t.Fatalf("%d to %d:\n%swant\n%s", from, to, got, want)
			}
		}
	}
}

// TestDamagedRange: undamaged blocks are written, and the damage is reported.
func TestDamagedRange(t *testing.T) {
	t.Parallel()
	path, _ := sample(t)
	r := open(t, path)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range r.Blocks() {
		if block.Type == "events" {
			b[block.Offset+block.Size-1] ^= 1
			break
		}
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	d := New(&out, open(t, path), false)
	err = d.Events(t.Context(), 0, 1000)
	var damage *recording.DamageError
	if !errors.As(err, &damage) || d.Flush() != nil {
		t.Errorf("%v", err)
	}
	if n := strings.Count(out.String(), "\n"); n != 9 ||
		!strings.Contains(out.String(), "operator new(8) = #6@0x5500 stack 3\n") {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
}

// TestPage: blocks and columns add up to the file's size, and the text has what the JSON has.
func TestPage(t *testing.T) {
	t.Parallel()
	path, events := sample(t)
	r := open(t, path)
	var b bytes.Buffer
	d := New(&b, r, true)
	if err := errors.Join(d.Page(), d.Flush()); err != nil {
		t.Fatal(err)
	}
	var p page
	if err := json.Unmarshal(b.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	total, columns := int64(32), int64(0) // the file's header
	for _, t := range p.Parts {
		if t.Column == "" {
			total += t.Stored
		} else {
			columns += t.Stored
		}
	}
	if total != r.Size() || columns == 0 || columns >= total {
		t.Errorf("blocks take %d of %d bytes, columns %d", total, r.Size(), columns)
	}
	if p.Events != uint64(len(events)) || !p.Complete || p.Ended != "exit status 3" || p.Duration != 2e9 ||
		p.LastTime != 1.5e9 || p.PID != 4711 ||
		p.Threads != 2 || p.Modules != 2 || p.PCs != 3 || p.Nodes != 3 || p.Samples != 1 || len(p.Notes) != 1 ||
		p.Version != "1.0" {
		t.Errorf("%+v", p)
	}
	b.Reset()
	d = New(&b, r, false)
	if err := errors.Join(d.Page(), d.Blocks(), d.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"format       1.0, by heaptap 1.2\n", "process      4711 ./prog a b\n",
		"events       19\n", "note         A note.\n",
		"\nevents       times of allocations  ", "\n     0           32  "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	end := int64(32)
	for _, block := range r.Blocks() {
		if block.Offset != end {
			t.Errorf("block %d is at offset %d, want %d", block.Number, block.Offset, end)
		}
		end = block.Offset + block.Size
	}
	if end != r.Size() {
		t.Errorf("the blocks end at %d of %d", end, r.Size())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	path, _ := sample(t)
	r := open(t, path)
	d := New(full{}, r, false)
	for range 200 {
		_ = d.Events(t.Context(), 0, 1000)
		_ = d.Page()
	}
	if err := d.Flush(); err == nil || err.Error() != "full" {
		t.Errorf("%v", err)
	}
	if err := d.Events(t.Context(), 0, 1000); err == nil || err.Error() != "full" {
		t.Errorf("%v", err)
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{0: "   0.0000000", 100: "   0.0000001", 1_234_567_800: "   1.2345678",
		123_456_789_012_345_600: "123456789.0123456"} {
		if got := string(Seconds([]byte("x"), ns, 12)); got != "x"+want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}

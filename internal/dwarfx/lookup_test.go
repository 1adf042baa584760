package dwarfx

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var code = []Span{{0x1000, 0x100000}}

func lookup(t *testing.T, s Sections, addrs ...uint64) [][]Frame {
	t.Helper()
	frames, err := New(s, Options{Code: code, Workers: 2}).Lookup(context.Background(), addrs)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Frame{})); d != "" {
		t.Errorf("differs (-want +got):\n%s", d)
	}
}

func TestFunctionsAndLines(t *testing.T) {
	t.Parallel()
	var e asm
	e.uleb(1).str("a.c").u64(0x1000).u32(0x100).u32(0)
	e.function("first", 0x1000, 0x10).function("second", 0x1010, 0x20).function("", 0x1040, 8).u8(0)
	s := Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard(),
		Line: lineProgram4([2]uint64{0x1000, 5}, [2]uint64{0x1008, 6}, [2]uint64{0x1008, 7}, [2]uint64{0x1030, 0})}
	got := lookup(t, s, 0xfff, 0x1000, 0x1007, 0x1008, 0x100f, 0x1010, 0x102f, 0x1030, 0x1040, 0x1100)
	at := func(name string, line uint32) []Frame { return []Frame{{Name: name, File: "/src/a.c", Line: line}} }
	same(t, got, [][]Frame{nil, at("first", 5), at("first", 5), at("first", 7), at("first", 7), at("second", 7),
		at("second", 7), nil, {{}}, nil})
}

// Inlined calls become frames, each with the location of the call below it. Scopes become part of a name.
func TestInlined(t *testing.T) {
	t.Parallel()
	const header = 11
	var e asm
	e.uleb(10).str("a.cc").u64(0x1000).u32(0x100).u16(0x1a)
	e.uleb(9).str("outer").uleb(9).str("")
	inner := header + len(e.b)
	e.uleb(4).str("inner").str("") // without linkage name
	e.u8(0)
	middle := header + len(e.b)
	e.uleb(4).str("middle").str("_Z6middlev")
	e.u8(0)
	e.uleb(2).str("main").u64(0x1000).u32(0x40)
	e.uleb(3).u32(uint32(middle)).u64(0x1010).u32(0x20).u8(11)
	e.uleb(3).u32(uint32(inner)).u64(0x1018).u32(8).u8(22).u8(0)
	e.u8(0)
	e.u8(0).u8(0)
	got := lookup(t, Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard()}, 0x1000, 0x1010, 0x1018, 0x1020, 0x1030)
	main := func(line uint32) Frame { return Frame{Name: "main", Scoped: true, Line: line} }
	mid := func(line uint32) Frame {
		return Frame{Name: "middle", Linkage: "_Z6middlev", Scoped: true, Line: line, Inlined: true}
	}
	in := Frame{Name: "outer::(anonymous namespace)::inner", Scoped: true, Inlined: true}
	same(t, got, [][]Frame{{main(0)}, {mid(0), main(11)}, {in, mid(22), main(11)}, {mid(0), main(11)}, {main(0)}})
}

// Linkers leave the debug information of functions that they dropped: at address 0, or at the copy that was kept.
func TestDroppedFunctions(t *testing.T) {
	t.Parallel()
	unit := func(name string, low uint64, size uint32) []byte {
		var e asm
		e.uleb(1).str("x.c").u64(low).u32(size).u32(0x7fffffff)
		return e.function(name, low, size).u8(0).b
	}
	var info asm
	info.unit4(unit("dropped", 0, 0x2000))           // reaches into the code
	info.unit4(unit("large", 0x1000, 0x100))         // covers more
	info.unit4(unit("kept", 0x1010, 0x10))           // the tighter range
	info.unit4(unit("twin", 0x1010, 0x10))           // the same, later
	info.unit4(unit("dropped too", ^uint64(0), 100)) // as lld marks them
	got := lookup(t, Sections{Info: info.b, Abbrev: standard()}, 0x10, 0x1000, 0x1010, 0x1020)
	same(t, got, [][]Frame{nil, {{Name: "large"}}, {{Name: "kept"}}, {{Name: "large"}}})
}

// A unit without address ranges is found by its line table.
func TestUnitWithoutRanges(t *testing.T) {
	t.Parallel()
	var e asm
	e.uleb(7).str("a.c").u32(0)
	e.function("hidden", 0x1000, 0x10).u8(0)
	s := Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard(),
		Line: lineProgram4([2]uint64{0x1000, 9}, [2]uint64{0x1010, 0})}
	same(t, lookup(t, s, 0x1004, 0x1010), [][]Frame{{{Name: "hidden", File: "/src/a.c", Line: 9}}, nil})
}

// A damaged unit loses its own names; the next one is read.
func TestDamagedUnit(t *testing.T) {
	t.Parallel()
	var bad, good asm
	bad.uleb(1).str("x.c").u64(0x1000).u32(0x10).u32(0).uleb(99).u8(1, 2, 3)
	good.uleb(1).str("y.c").u64(0x2000).u32(0x10).u32(0xfffffff).function("fine", 0x2000, 0x10).u8(0)
	s := Sections{Info: new(asm).unit4(bad.b).unit4(good.b).b, Abbrev: standard()}
	same(t, lookup(t, s, 0x1000, 0x2000), [][]Frame{nil, {{Name: "fine"}}})
}

// The work and the memory for a small forged file must stay small.
func TestForged(t *testing.T) {
	t.Parallel()
	root := func(e *asm) *asm { return e.uleb(1).str("x.c").u64(0x1000).u32(0x10000).u32(0) }
	for _, c := range []struct {
		name     string
		sections func() Sections
		tooMuch  bool
	}{
		{"origins in a cycle", func() Sections {
			var e asm
			root(&e)
			e.uleb(8).u32(uint32(11 + len(e.b))).u64(0x1000).u32(0x10000)
			return Sections{Info: new(asm).unit4(e.u8(0).b).b, Abbrev: standard()}
		}, false},
		{"every function has the same endless list of ranges", func() Sections {
			var e, r asm
			root(&e)
			for range 5000 {
				e.uleb(5).u32(0).u32(0)
			}
			for range 5000 {
				r.u64(0x1000).u64(0x1001)
			}
			return Sections{Info: new(asm).unit4(e.u8(0).b).b, Abbrev: standard(), Ranges: r.u64(0).u64(0).b}
		}, true},
		{"every unit has the same endless list of ranges", func() Sections {
			var r, info asm
			for range 5000 {
				info.unit4(new(asm).uleb(6).str("").u32(0).u8(0).b)
				r.u64(0x1000).u64(0x9000)
			}
			return Sections{Info: info.b, Abbrev: standard(), Ranges: r.u64(0).u64(0).b}
		}, true},
		{"every unit runs the same endless line program", func() Sections {
			var info, p asm
			for range 2000 {
				info.unit4(new(asm).uleb(7).str("").u32(0).u8(0).b)
			}
			h := lineProgram4([2]uint64{0x1000, 1}, [2]uint64{0x1000, 1})
			p.put(h)
			for range 200000 {
				p.u8(lnsCopy)
			}
			little := uint32(len(p.b) - 4)
			p.b[0], p.b[1], p.b[2], p.b[3] = byte(little), byte(little>>8), byte(little>>16), byte(little>>24)
			return Sections{Info: info.b, Abbrev: standard(), Line: p.b}
		}, true},
		{"entries of one byte with a hundred thousand attributes", func() Sections {
			ab := new(asm).put(standard()[:len(standard())-1])
			var pairs []uint64
			for range 100000 {
				pairs = append(pairs, atName, formFlagPresent)
			}
			ab.abbreviation(11, tagSubprogram, false, pairs...)
			var e asm
			root(&e)
			for range 100000 {
				e.uleb(11)
			}
			return Sections{Info: new(asm).unit4(e.u8(0).b).b, Abbrev: ab.u8(0).b}
		}, true},
		{"deeply nested entries", func() Sections {
			var e asm
			e.uleb(10).str("x.cc").u64(0x1000).u32(0x10000).u16(4)
			for range 20000 {
				e.uleb(9).str("")
			}
			at := uint32(11 + len(e.b))
			e.uleb(4).str("deep").str("").uleb(8).u32(at).u64(0x1000).u32(0x10000)
			return Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard()}
		}, false},
		{"deeply inlined calls everywhere", func() Sections {
			var e asm
			root(&e)
			e.uleb(2).str("f").u64(0x1000).u32(0x10000)
			for range 5000 {
				e.uleb(3).u32(0).u64(0x1000).u32(0x10000).u8(1)
			}
			return Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard()}
		}, true},
		{"file tables of empty entries", func() Sections {
			var h, a asm
			h.u8(1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
			h.u8(1).uleb(lnctPath).uleb(formFlagPresent).uleb(1 << 60)
			a.u32(uint32(2+2+4+len(h.b))).u16(5).u8(8, 0).u32(uint32(len(h.b))).put(h.b)
			var e asm
			root(&e)
			return Sections{Info: new(asm).unit4(e.function("f", 0x1000, 0x1000).u8(0).b).b, Abbrev: standard(),
				Line: a.b}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.sections()
			var addrs []uint64
			for a := uint64(0x1000); a < 0x9000; a += 64 {
				addrs = append(addrs, a)
			}
			d := New(s, Options{Code: code, Workers: 2})
			d.grant = 1 << 18
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := d.Lookup(context.Background(), addrs)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if c.tooMuch != errors.Is(err, errTooMuch) {
				t.Errorf("error %v, too much: %v", err, c.tooMuch)
			}
			if took > time.Minute {
				t.Errorf("took %v", took)
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			if limit := uint64(d.size())*8 + 128<<20; allocated > limit {
				t.Errorf("allocated %d MB for sections of %d KB", allocated>>20, d.size()>>10)
			}
			t.Logf("%d KB: %v, %d MB, %v", d.size()>>10, took, allocated>>20, err)
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	var e asm
	e.uleb(1).str("a.c").u64(0x1000).u32(0x100).u32(0)
	for range 200000 {
		e.function("f", 0x1000, 0x10)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New(Sections{Info: new(asm).unit4(e.b).b, Abbrev: standard()}, Options{}).Lookup(ctx, []uint64{0x1000})
	if !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "cancel") {
		t.Errorf("error %v", err)
	}
}

// FuzzLookup takes any bytes as sections.
func FuzzLookup(f *testing.F) {
	var e asm
	e.uleb(1).str("a.c").u64(0x1000).u32(0x100).u32(0).function("first", 0x1000, 0x10).u8(0)
	f.Add(new(asm).unit4(e.b).b, standard(), lineProgram4([2]uint64{0x1000, 5}, [2]uint64{0x1030, 0}),
		[]byte("abc\x00"))
	f.Fuzz(func(t *testing.T, info, abbrev, line, rest []byte) {
		s := Sections{Info: info, Abbrev: abbrev, Line: line, LineStr: rest, Str: rest, StrOffsets: rest, Addr: rest,
			Ranges: rest, Rnglists: rest}
		d := New(s, Options{Code: code, Alt: New(s, Options{})})
		d.Lookup(context.Background(), []uint64{0x1000, 0x1001, 0x1010, 0x2000, 0x3000})
	})
}

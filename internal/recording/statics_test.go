package recording

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

var someVariables = []event.Variable{
	{Module: 7, Kind: event.BSS, Addr: 1 << 62, Size: 1 << 40, Name: "n::big", Linkage: "_ZN1n3bigE", File: "/src/n.cc", Line: 1<<32 - 1},
	{Module: 2, Kind: event.TData, Size: 1, Name: "é", File: "/src/n.cc"},
	{Module: 1<<32 - 1, Kind: event.OtherData},
}

var someSections = []event.DataSection{
	{Module: 7, Kind: event.BSS, Start: 1 << 62, End: 1<<62 + 1<<40, Variables: 1, Named: 5},
	{Module: 1, Kind: event.TBSS, End: 9},
}

var somePages = []event.Residency{
	{Module: 7, Time: 1e18, PageSize: 65536, Looked: []event.AddrRange{{Start: 1 << 62, End: 1 << 63}},
		Resident: []event.AddrRange{{Start: 1 << 62, End: 1<<62 + 65536}, {Start: 1<<62 + 1<<20, End: 1 << 63}}},
	{Module: 1, Looked: []event.AddrRange{}, Resident: []event.AddrRange{}},
}

// TestStatics: what is written is read, however much it is.
func TestStatics(t *testing.T) {
	t.Parallel()
	many := append([]event.Variable(nil), someVariables...)
	for i := range 3 * staticsEntries {
		many = append(many, event.Variable{Module: 1, Size: uint64(i), Name: strings.Repeat("x", 1+i%2000)})
	}
	r := written(t, func(w *Writer) error { return errors.Join(w.Variables(many, someSections), w.Residency(somePages)) })
	if !reflect.DeepEqual(r.Variables(), many) || !reflect.DeepEqual(r.DataSections(), someSections) ||
		!reflect.DeepEqual(r.Residency(), somePages) {
		t.Errorf("%d variables, %+v, %+v", len(r.Variables()), r.DataSections(), r.Residency())
	}
}

// TestForgedStatics changes every byte of the tables, with the checksums of blocks aside: there is an error, or what is read keeps
// what questions rely on.
func TestForgedStatics(t *testing.T) {
	t.Parallel()
	for typ, encode := range map[blockType]func(*payload, *columnWriter){
		blockVariables:    func(p *payload, w *columnWriter) { encodeVariables(p, w, someVariables) },
		blockDataSections: func(p *payload, w *columnWriter) { encodeDataSections(p, w, someSections) },
		blockResidency:    func(p *payload, w *columnWriter) { encodeResidency(p, w, somePages) },
	} {
		forgeries(t, encode, func(at int, s *columns) {
			var got statics
			if got.load(typ, s) != nil {
				return
			}
			for _, d := range got.sections {
				if d.End < d.Start {
					t.Fatalf("byte %d: %+v", at, d)
				}
			}
			for _, x := range got.residency {
				for _, list := range [][]event.AddrRange{x.Looked, x.Resident} {
					for k, a := range list {
						if a.End < a.Start || k > 0 && a.Start < list[k-1].End {
							t.Fatalf("byte %d: %+v", at, list)
						}
					}
				}
			}
		})
	}
}

// TestForgedRanges: ranges that go back, that end beyond the last address, and more of them than there are.
func TestForgedRanges(t *testing.T) {
	t.Parallel()
	list := func(ranges ...event.AddrRange) []event.Residency {
		return []event.Residency{{Module: 1, Looked: ranges}}
	}
	for name, forge := range map[string]func(p *payload, w *columnWriter){
		"back": func(p *payload, w *columnWriter) {
			encodeResidency(p, w, list(event.AddrRange{Start: 4096, End: 8192}, event.AddrRange{Start: 4096, End: 5000}))
		},
		"beyond": func(p *payload, w *columnWriter) {
			encodeResidency(p, w, list(event.AddrRange{Start: 8192, End: 4096}))
		},
		"many": func(p *payload, w *columnWriter) {
			p.uint(1)
			w.id, w.a, w.b, w.c = []byte{2}, []byte{0, 0}, binary.AppendUvarint(nil, 1<<50), []byte{0}
			w.store(p)
		},
	} {
		p, err := newPayload()
		if err != nil {
			t.Fatal(err)
		}
		forge(p, &columnWriter{})
		var s columns
		var got statics
		if err := s.parse(p.bytes()); err != nil {
			t.Fatal(err)
		}
		if err := got.load(blockResidency, &s); err == nil || len(got.residency) > 0 {
			t.Errorf("%s: %v, %+v", name, err, got.residency)
		}
	}
}

package recording_test

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

var someVariables = []event.Variable{
	{Module: 7, Kind: event.BSS, Addr: 1 << 62, Size: 1 << 40, Name: "n::big", Linkage: "_ZN1n3bigE", File: "/src/n.cc",
		Line: 1<<32 - 1},
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

// TestStatics: tables are read as they were written, however large they are.
func TestStatics(t *testing.T) {
	t.Parallel()
	many := append([]event.Variable(nil), someVariables...)
	for i := range 3 * recording.VariableRows {
		many = append(many, event.Variable{Module: 1, Size: uint64(i), Name: strings.Repeat("x", 1+i%2000)})
	}
	r := written(t, func(w *recording.Writer) error {
		return errors.Join(w.Variables(many, someSections), w.Residency(somePages))
	})
	if !reflect.DeepEqual(r.Variables(), many) || !reflect.DeepEqual(r.DataSections(), someSections) ||
		!reflect.DeepEqual(r.Residency(), somePages) {
		t.Errorf("%d variables, %+v, %+v", len(r.Variables()), r.DataSections(), r.Residency())
	}
}

// TestForgedStatics changes every byte of the tables' payloads: there is an error, or what is read is consistent.
func TestForgedStatics(t *testing.T) {
	t.Parallel()
	for typ, encode := range map[recording.BlockType]func(*column.Payload){
		recording.BlockVariables:    func(p *column.Payload) { recording.VariableTable.Encode(p, someVariables) },
		recording.BlockDataSections: func(p *column.Payload) { recording.DataSectionTable.Encode(p, someSections) },
		recording.BlockResidency:    func(p *column.Payload) { recording.ResidencyTable.Encode(p, somePages) },
	} {
		forgeries(t, encode, func(at int, s *column.Set) {
			var sections []event.DataSection
			var residency []event.Residency
			var err error
			switch typ {
			case recording.BlockVariables:
				_, err = recording.VariableTable.Decode(s, nil)
			case recording.BlockDataSections:
				sections, err = recording.DataSectionTable.Decode(s, nil)
			case recording.BlockResidency:
				residency, err = recording.ResidencyTable.Decode(s, nil)
			}
			if err != nil {
				return
			}
			for _, d := range sections {
				if d.End < d.Start {
					t.Fatalf("byte %d: %+v", at, d)
				}
			}
			for _, x := range residency {
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
	for name, forge := range map[string]func(p *column.Payload){
		"back": func(p *column.Payload) {
			recording.ResidencyTable.Encode(p, list(event.AddrRange{Start: 4096, End: 8192},
				event.AddrRange{Start: 4096, End: 5000}))
		},
		"beyond": func(p *column.Payload) {
			recording.ResidencyTable.Encode(p, list(event.AddrRange{Start: 8192, End: 4096}))
		},
		"many": func(p *column.Payload) {
			p.Uint(1)
			for i, b := range [][]byte{{2}, {0, 0}, binary.AppendUvarint(nil, 1<<50), {0}} {
				p.Column(column.ID(i+1), b)
			}
		},
	} {
		p := column.NewPayload()
		forge(p)
		var s column.Set
		if err := s.Parse(p.Bytes()); err != nil {
			t.Fatal(err)
		}
		if got, err := recording.ResidencyTable.Decode(&s, nil); err == nil || len(got) > 0 {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

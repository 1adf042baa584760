package dwarfx

import (
	"encoding/binary"
	"testing"
)

// FuzzPackage takes any bytes as a package's index.
func FuzzPackage(f *testing.F) {
	f.Add([]byte{}, uint64(1))
	var a asm
	a.u16(5).u16(0).u32(2).u32(1).u32(2)
	a.u64(0).u64(7).u32(0).u32(1)
	a.u32(packInfo).u32(packAbbrev).u32(4).u32(0).u32(8).u32(2)
	f.Add(a.b, uint64(7))
	s := Sections{Info: make([]byte, 64), Abbrev: make([]byte, 16), Str: []byte("x\x00"), StrOffsets: make([]byte, 8)}
	f.Fuzz(func(t *testing.T, index []byte, id uint64) {
		p, err := NewPackage(s, index)
		if err != nil {
			return
		}
		u, err := p.Unit(id)
		if err == nil && (len(u.Info) > len(s.Info) || len(u.Abbrev) > len(s.Abbrev) ||
			string(u.Str) != string(s.Str)) {
			t.Errorf("%+v", u)
		}
	})
}

func TestPackage(t *testing.T) {
	info := make([]byte, 64)
	for i := range info {
		info[i] = byte(i)
	}
	for _, version := range []uint16{2, 5} {
		var a asm
		a.u16(version).u16(0).u32(2).u32(3).u32(4)
		// Three ids with the same first slot: the second hash leads to the others.
		ids := []uint64{1, 1<<32 | 1<<20 | 1, 1 | 3<<40}
		slots := make([]uint64, 4)
		rows := make([]uint32, 4)
		for i, id := range ids {
			k := id & 3
			for rows[k] != 0 {
				k = (k + (id>>32&3 | 1)) & 3
			}
			slots[k], rows[k] = id, uint32(i+1)
		}
		for _, s := range slots {
			a.u64(s)
		}
		for _, r := range rows {
			a.u32(r)
		}
		a.u32(packInfo).u32(packStrOffsets)
		a.u32(0).u32(0).u32(10).u32(4).u32(60).u32(8) // offsets
		a.u32(10).u32(4).u32(50).u32(4).u32(4).u32(8) // sizes
		p, err := NewPackage(Sections{Info: info, StrOffsets: make([]byte, 16)}, a.b)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range [][2]int{{0, 10}, {10, 50}, {60, 4}} {
			s, err := p.Unit(ids[i])
			if err != nil || len(s.Info) != want[1] || int(s.Info[0]) != want[0] {
				t.Errorf("version %d, unit %d: %d bytes, %v", version, i, len(s.Info), err)
			}
		}
		if _, err := p.Unit(2); err == nil {
			t.Errorf("version %d: a missing unit was found", version)
		}
		binary.LittleEndian.PutUint32(a.b[8:], 1<<30)
		if _, err := NewPackage(Sections{}, a.b); err == nil {
			t.Errorf("version %d: an index of 2^30 units in %d bytes was accepted", version, len(a.b))
		}
	}
}

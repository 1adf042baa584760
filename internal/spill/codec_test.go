package spill

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/wire"
	"golang.org/x/sys/unix"
)

// slackOf returns the usual slack of an allocation by glibc, which rounds a block and its header up to 16 bytes, at
// least 32.
func slackOf(size uint32) uint8 {
	if size <= 24 {
		return uint8(24 - size)
	}
	return uint8(-(size + 8)) & 15
}

// likeReal makes records like those of a C++ compiler: sizes and stacks from a skewed distribution, blocks in a growing
// heap, mostly freed soon, a few dozen ns apart.
func likeReal(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b []byte
	type block struct{ addr uint64 }
	var live []block
	top, now := uint64(0x55d5c0de1000), uint64(1e15)
	var holes []uint64
	for range n {
		now += 60 + uint64(r.ExpFloat64()*90)
		if len(live) > 100 && r.IntN(100) < 49 {
			i := len(live) - 1 - int(r.ExpFloat64()*8)
			if i < 0 {
				i = r.IntN(len(live))
			}
			holes = append(holes, live[i].addr)
			b = wire.Append(b, wire.Record{Kind: wire.KFree, Addr: live[i].addr, Time: now})
			live = append(live[:i], live[i+1:]...)
			continue
		}
		size := uint32(16 + 8*int(r.ExpFloat64()*6))
		addr := top
		if len(holes) > 0 && r.IntN(3) > 0 {
			addr = holes[len(holes)-1]
			holes = holes[:len(holes)-1]
		} else {
			top += uint64(size+8+15) &^ 15
		}
		kind := uint8(wire.KMalloc)
		if r.IntN(4) == 0 {
			kind = wire.KNew
		}
		slack := slackOf(size)
		if r.IntN(100) < 9 {
			slack += 16
		}
		stack := uint32(r.ExpFloat64() * 400)
		live = append(live, block{addr})
		b = wire.Append(b, wire.Record{Kind: kind, Addr: addr, Size: size, Stack: stack, Slack: slack, Time: now})
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	odd := wire.Append(nil, wire.Record{Kind: wire.XSize, Value: 1 << 40})
	odd = wire.Append(odd, wire.Record{Kind: wire.XSize, Value: 3})
	odd = wire.Append(odd, wire.Record{Kind: wire.XSize, Addr: 5, Slack: 1, Value: 3})
	odd = wire.Append(odd, wire.Record{Kind: wire.KNew, Addr: wire.AddrMask, Size: wire.None, Stack: wire.None,
		Slack: 255, Time: 1})
	odd = wire.Append(odd, wire.Record{Kind: wire.KNew})
	odd = wire.Append(odd, wire.Record{Kind: wire.KNew, Addr: 1 << 47, Size: 70000, Stack: 70000, Time: 1<<64 - 1})
	odd = wire.Append(odd, wire.Record{Kind: wire.KFree, Slack: 3})
	odd = wire.Append(odd, wire.Record{Kind: wire.KFree, Slack: 3, Time: 9})
	odd = wire.Append(odd, wire.Record{Kind: wire.KFree, Time: 2})
	// Every value of each field of an event, combined with every value of the others.
	var all []byte
	now := uint64(0)
	for i := range 4000 {
		pick := func(n int, values ...uint64) uint64 { return values[i/n%len(values)] }
		now += pick(1, 0, 255, 256, 65535, 65536)
		addr := pick(5, 16, 32, 1<<19, 1<<20, 1<<35, 1<<36, 1<<47, 8, 1<<40+1)
		r := wire.Record{Addr: addr, Kind: uint8(pick(3, wire.KNew, wire.KFree, wire.KMalloc, wire.XCount)), Time: now,
			Value: addr}
		r.Size, r.Slack = uint32(pick(7, 0, 255, 256, 65535, 65536, 1<<24-1, 1<<24)), uint8(pick(11, 0, 1))
		r.Stack = uint32(pick(13, 0, 1, 0, 255, 256, 1<<24-1, 1<<24))
		if wire.Class(r.Kind) == wire.ClassExtra {
			r.Addr, r.Slack = 0, 0
		}
		all = wire.Append(all, r)
	}
	var kinds []byte
	for i := range 400 {
		kinds = wire.Append(kinds, wire.Record{Kind: uint8(i % 192), Addr: uint64(i), Time: uint64(i)})
	}
	for name, b := range map[string][]byte{"empty": nil, "real": likeReal(5000, 1), "odd": odd, "all": all,
		"kinds": kinds} {
		out, u := Encode([]byte("head"), b)
		if u != len(b) {
			t.Errorf("%s: %d bytes packed, want %d", name, u, len(b))
		}
		got, err := Decode([]byte("x"), out[4:], len(b))
		if err != nil || !bytes.Equal(got[1:], b) {
			t.Errorf("%s: unpacked to other records: %v", name, err)
		}
		if len(b) > 0 {
			if _, err := Decode(nil, out[4:], len(b)-1); err == nil {
				t.Errorf("%s: no error although there are more than %d bytes", name, len(b)-1)
			}
		}
	}
}

func TestStopsAtGarbage(t *testing.T) {
	b := likeReal(10, 1)
	for _, bad := range [][]byte{b[:len(b)-8], append(b[:len(b):len(b)], bytes.Repeat([]byte{0xff}, 40)...)} {
		_, used := wire.Events(bad)
		out, u := Encode(nil, bad)
		if u != used {
			t.Errorf("%d bytes packed, want %d", u, used)
		}
		if got, err := Decode(nil, out, u); err != nil || !bytes.Equal(got, bad[:u]) {
			t.Errorf("unpacked to other records: %v", err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for i := range uint64(3) {
		out, _ := Encode(nil, likeReal(20, i))
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := Decode(nil, b, 1<<16)
		if len(got) > 1<<16 {
			t.Fatalf("%d bytes", len(got))
		}
		if err != nil {
			return
		}
		// What can be unpacked can be packed again, to the same records.
		out, used := Encode(nil, got)
		again, err := Decode(nil, out, 1<<16)
		if err != nil || used != len(got) || !bytes.Equal(again, got) {
			t.Fatalf("packed %d of %d bytes, unpacked %d: %v", used, len(got), len(again), err)
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add(likeReal(20, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, n := wire.Events(b)
		out, used := Encode(nil, b)
		if used != n || len(out) > Bound(len(b)) {
			t.Fatalf("%d bytes packed, want %d; %d bytes made of %d", used, n, len(out), len(b))
		}
		if got, err := Decode(nil, out, used); err != nil || !bytes.Equal(got, b[:used]) {
			t.Fatalf("unpacked to other records: %v", err)
		}
	})
}

func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchBlocks() (blocks [][]byte) {
	all := likeReal(200000, 7)
	for len(all) > 0 {
		n := 0
		for n < len(all) && n < wire.ChunkSize-wire.RecordMax {
			n += wire.RecordSize(uint64(all[n+6]) << wire.KindShift)
		}
		blocks, all = append(blocks, all[:n]), all[n:]
	}
	return blocks
}

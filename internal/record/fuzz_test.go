package record

import (
	"os"
	"testing"

	"github.com/heaptap/heaptap/internal/verify"
	"github.com/heaptap/heaptap/internal/wire"
)

// FuzzRecords: whatever a target writes into its streams, the recording of it is right in itself. A piece of the input
// is the number of a stream, how many records of 8 bytes follow, and these; so notes of regions, marks and names come
// in any order, and cut short.
func FuzzRecords(f *testing.F) {
	piece := func(uid byte, list ...wire.Record) []byte {
		var b []byte
		for _, r := range list {
			b = wire.Append(b, r)
		}
		return append([]byte{uid, byte(len(b) / 8)}, b...)
	}
	begin, end := wire.Record{Kind: wire.KRegionBegin, Addr: 1, Time: 150}, wire.Record{Kind: wire.KRegionEnd, Addr: 1,
		Time: 400}
	alloc, free := wire.Record{Kind: wire.KMalloc, Addr: 1 << 20, Size: 5, Time: 200}, wire.Record{Kind: wire.KFree,
		Addr: 1 << 20, Time: 300}
	f.Add([]byte{})
	f.Add(append(piece(0, alloc, free, wire.Record{Kind: wire.KReallocBegin, Addr: 1 << 20, Time: 350},
		wire.Record{Kind: wire.KRealloc, Addr: 1 << 21, Size: 9, Time: 360}),
		piece(1, wire.Record{Kind: wire.XID, Value: 7}, begin, alloc, begin, free, end, begin, end)...))
	f.Add(append(piece(1, begin, wire.Record{Kind: wire.KMalloc, Addr: 1 << 20, Size: 2, Time: 250}, end, begin),
		piece(0, alloc, free)...))
	f.Add(piece(2, wire.Record{Kind: wire.XOld, Value: 0x7000}, wire.Record{Kind: wire.XOldSize, Value: 1 << 63},
		wire.Record{Kind: wire.KRangeName, Addr: 1, Time: 1},
		wire.Record{Kind: wire.KMark, Addr: 1, Time: 2}, wire.Record{Kind: wire.KThreadName, Addr: 1,
			Time: 3}, wire.Record{Kind: wire.KStack, Addr: 1 << 30, Size: 4096, Time: 4}))
	f.Add(piece(0, wire.Record{Kind: wire.XCount, Value: 1000}, begin, alloc, end))
	f.Add(piece(0, wire.Record{Kind: wire.XID, Value: 7}, wire.Record{Kind: wire.XCount, Value: 1000},
		wire.Record{Kind: wire.XID, Value: 8}, begin))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newScript(t)
		c.w.final = true // do not wait for call stacks that do not come
		for n := uint64(1); len(b) >= 2; n++ {
			uid, size := uint64(b[0]%4), min(8*int(b[1]), len(b)-2)
			c.bytes(uid, b[2:2+size])
			if b[0]&4 != 0 {
				c.look(n*1000, uint64(b[0]>>4%4))
			}
			b = b[2+size:]
		}
		r := c.finished()
		file, err := os.Open(c.path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		found, err := verify.Recording(file, r.Size(), "fuzzed")
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range found.Checks {
			for _, p := range check.Problems {
				t.Errorf("%s: %s", check.Name, p)
			}
		}
	})
}

package tally_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/tally"
)

// TestBlock: events counted in blocks of any length give what they give one by one.
func TestBlock(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		p := newProgram(seed)
		p.run(20 + r.IntN(600))
		events := p.want
		one, many := tally.New(), tally.New()
		blk := many.Block()
		place := map[uint32]int{}
		var spare []tally.Local
		var batch event.Batch
		longest := 1 + r.IntN(200)
		left := r.IntN(longest) + 1
		for i := range events {
			e := &events[i]
			one.Add(e)
			local, ok := place[e.Stack]
			if !ok {
				local = len(place)
				place[e.Stack] = local
				blk.Open(e.Stack)
			}
			kind := event.RowOther
			switch plain := e.Flags&^(event.Temporary|event.HasUsable) == 0 && e.Func != event.FuncUnknown; {
			case e.Kind == event.Alloc && plain && e.Flags&event.HasUsable != 0 && e.Usable >= e.Size:
				kind = event.RowAlloc
			case e.Kind == event.Free && plain && e.Flags&event.Temporary != 0:
				kind = event.RowTemporary
			case e.Kind == event.Free && plain:
				kind = event.RowFree
			}
			switch x := (event.Row{Time: uint64(e.Time), Size: e.Size, Stack: uint32(local), Thread: e.Thread,
				Kind: kind, Func: e.Func}); kind {
			case event.RowAlloc:
				x.Ref = e.Usable - e.Size
				batch.Rows = append(batch.Rows, x)
			case event.RowFree, event.RowTemporary:
				x.BornBy, x.Born = e.BornBy, uint64(min(e.Born, e.Time))
				batch.Rows = append(batch.Rows, x)
			default:
				full := event.Full{Event: *e}
				if e.Kind != event.Map {
					full.Stack = uint32(local)
				}
				batch.Full = append(batch.Full, full)
				batch.Others = append(batch.Others, event.Other{Row: len(batch.Rows), End: len(batch.Full)})
				batch.Rows = append(batch.Rows, x)
			}
			if r.IntN(20) == 0 {
				blk.Add(&batch, 1)
				batch = event.Batch{}
			}
			if left--; left == 0 || i == len(events)-1 {
				blk.Add(&batch, 1)
				batch = event.Batch{}
				spare = blk.Close(e.Time, 1, spare)
				clear(place)
				left = r.IntN(longest) + 1
			}
		}
		if got, want := many.Summary(), one.Summary(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in blocks\n%+v\none by one\n%+v", seed, got, want)
		}
	}
}

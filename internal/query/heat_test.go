package query

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkHeat checks the heat maps of a histogram against its other parts, which the tests compare with a slow model.
func checkHeat(t *testing.T, h *Histogram) {
	t.Helper()
	type key [2]HeatClass
	cells := func(heat *Heat) map[key]HeatCell {
		t.Helper()
		out := make(map[key]HeatCell)
		sum := HeatCell{}
		for i, down := range heat.Down {
			row := HeatCell{}
			for k, across := range heat.Across {
				if c := heat.Cells[i][k]; c != (HeatCell{}) {
					out[key{down, across}] = c
					row.Add(c)
				}
			}
			if row != heat.Row(i) {
				t.Errorf("%+v is %+v, want %+v", down, heat.Row(i), row)
			}
			sum.Add(row)
		}
		if sum != heat.Total() {
			t.Errorf("in all %+v, want %+v", heat.Total(), sum)
		}
		return out
	}
	class := func(n int) HeatClass {
		low, high := SizeClass(uint8(n))
		return HeatClass{Class: uint8(n), Low: low, High: high}
	}
	put := func(m map[key]HeatCell, down, across HeatClass, c HeatCell) {
		if c.Count > 0 {
			m[key{down, across}] = c
		}
	}
	times, ages, moves := make(map[key]HeatCell), make(map[key]HeatCell), make(map[key]HeatCell)
	for a := range Classes {
		for step := range HistSteps {
			b := h.Times[step][a]
			at := HeatClass{Low: uint64(h.StepTime(step)), High: uint64(h.StepTime(step + 1))}
			put(times, class(a), at, HeatCell{Count: b.Count, Bytes: b.Bytes})
		}
		put(ages, HeatClass{Never: true}, class(a), HeatCell{Count: h.Kept[a].Count, Bytes: h.Kept[a].Bytes})
		for b := range Classes {
			put(ages, class(b), class(a), HeatCell{Count: h.Ages[a][b].Count, Bytes: h.Ages[a][b].Bytes})
			m := h.Moves[a][b]
			put(moves, class(a), class(b), HeatCell{m.Count, m.Copied, m.InPlace})
		}
	}
	for _, one := range []struct {
		name string
		got  *Heat
		want map[key]HeatCell
	}{
		{"sizes by time", h.SizesByTime(), times}, {"lifetimes by size", h.LifetimesBySize(), ages},
		{"reallocations", h.Reallocations(), moves},
	} {
		if d := cmp.Diff(one.want, cells(one.got)); d != "" {
			t.Errorf("%s: %s", one.name, d)
		}
	}
}

// TestClassAxis: an axis goes from the first to the last class, without those between nothing at all and the next one.
func TestClassAxis(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ counted, want []uint8 }{
		{nil, nil}, {[]uint8{0}, []uint8{0}}, {[]uint8{64}, []uint8{64}}, {[]uint8{5, 8}, []uint8{5, 6, 7, 8}},
		{[]uint8{0, 5, 7}, []uint8{0, 5, 6, 7}}, {[]uint8{0, 1, 3}, []uint8{0, 1, 2, 3}},
	} {
		counts := make(map[int]uint64)
		for _, class := range x.counted {
			counts[int(class)] = 1
		}
		var got []uint8
		for _, c := range classAxis(func(class int) uint64 { return counts[class] }) {
			got = append(got, c.Class)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%v: %s", x.counted, d)
		}
	}
}

// TestManyPairs: reallocations of pairs that are too many to be told apart are in the classes nevertheless.
func TestManyPairs(t *testing.T) {
	most := mostPairs
	mostPairs = 10
	defer func() { mostPairs = most }()
	want, all, part := new(Moves), new(sizePairs), new(sizePairs)
	count := uint64(0)
	for i := range uint64(1000) {
		x := SizePair{Old: i, New: 2 * i % 700, Count: 3, InPlace: i % 3}
		m := &want[len(bitsOf(x.Old))][len(bitsOf(x.New))]
		m.add(Move{3, i % 3, (3 - i%3) * min(x.Old, x.New)})
		count += x.Count
		if part.add(x); i%7 == 0 {
			all.merge(part)
			part = new(sizePairs)
		}
	}
	all.merge(part)
	if d := cmp.Diff(want, all.moves()); d != "" || len(all.of) > mostPairs {
		t.Errorf("%d pairs: %s", len(all.of), d)
	}
	told := uint64(0)
	for _, x := range all.of {
		told += x.Count
	}
	if told+all.others != count {
		t.Errorf("%d in pairs and %d others, want %d", told, all.others, count)
	}
}

// bitsOf writes a number in binary digits; that of 0 has none.
func bitsOf(n uint64) (digits string) {
	for ; n > 0; n /= 2 {
		digits += string(rune('0' + n%2))
	}
	return digits
}

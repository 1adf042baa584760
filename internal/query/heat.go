package query

// The kinds of heat maps.
const (
	HeatTime     = "time"     // SizesByTime
	HeatLifetime = "lifetime" // LifetimesBySize
	HeatReallocs = "reallocs" // Reallocations
)

// HeatKinds are all of them.
var HeatKinds = []string{HeatTime, HeatLifetime, HeatReallocs}

// Heat is a table of two distributions at once, for pictures: how many blocks are in each class of one and of another.
type Heat struct {
	Down, Across []HeatClass
	Cells        [][]HeatCell // by Down and Across
}

// HeatClass is a class of sizes or lifetimes, or a step of time.
type HeatClass struct {
	Class uint8  // of sizes or lifetimes; see SizeClass
	Low   uint64 // the least value: bytes or ns
	High  uint64 // the greatest one; of a step of time, when the next one begins
	Never bool   // blocks that were never freed; it has no bounds
}

// HeatCell sums up the blocks of two classes.
type HeatCell struct {
	Count   uint64
	Bytes   uint64 // requested; of reallocations, copied
	InPlace uint64 // reallocations that kept the address
}

// Add adds another cell.
func (c *HeatCell) Add(o HeatCell) {
	c.Count += o.Count
	c.Bytes += o.Bytes
	c.InPlace += o.InPlace
}

// Total is the sum of all cells.
func (h *Heat) Total() (sum HeatCell) {
	for down := range h.Cells {
		sum.Add(h.Row(down))
	}
	return sum
}

// Row is the sum of the cells of a class of Down.
func (h *Heat) Row(down int) (sum HeatCell) {
	for _, c := range h.Cells[down] {
		sum.Add(c)
	}
	return sum
}

// SizesByTime are the allocations by size and time of the allocation.
func (h *Histogram) SizesByTime() *Heat {
	t := newHeat(classAxis(func(class int) uint64 { return h.Sizes[class].Count }), make([]HeatClass, HistSteps))
	for step := range h.Times {
		t.Across[step] = HeatClass{Low: uint64(max(0, h.StepTime(step))), High: uint64(max(0, h.StepTime(step+1)))}
		for i, c := range t.Down {
			b := h.Times[step][c.Class]
			t.Cells[i][step] = HeatCell{Count: b.Count, Bytes: b.Bytes}
		}
	}
	return t
}

// LifetimesBySize are the blocks that were freed in the range by lifetime and size, and those that were allocated in
// the range and never freed, in a class of their own, the last one.
func (h *Histogram) LifetimesBySize() *Heat {
	ages := classAxis(func(class int) uint64 { return h.Lifetimes[class].Count })
	if h.NeverFreed.Count > 0 {
		ages = append(ages, HeatClass{Never: true})
	}
	t := newHeat(ages, classAxis(func(class int) uint64 { return h.Freed[class].Count + h.Kept[class].Count }))
	for i, age := range t.Down {
		for k, size := range t.Across {
			b := h.Ages[size.Class][age.Class]
			if age.Never {
				b = h.Kept[size.Class]
			}
			t.Cells[i][k] = HeatCell{Count: b.Count, Bytes: b.Bytes}
		}
	}
	return t
}

// Reallocations are the reallocations by size before and size after.
func (h *Histogram) Reallocations() *Heat {
	if h.Moves == nil { // of an estimate
		return newHeat(nil, nil)
	}
	var old, now [Classes]uint64
	for i := range h.Moves {
		for k, m := range h.Moves[i] {
			old[i] += m.Count
			now[k] += m.Count
		}
	}
	t := newHeat(classAxis(func(class int) uint64 { return old[class] }),
		classAxis(func(class int) uint64 { return now[class] }))
	for i, from := range t.Down {
		for k, to := range t.Across {
			m := h.Moves[from.Class][to.Class]
			t.Cells[i][k] = HeatCell{Count: m.Count, Bytes: m.Copied, InPlace: m.InPlace}
		}
	}
	return t
}

func newHeat(down, across []HeatClass) *Heat {
	t := &Heat{Down: down, Across: across, Cells: make([][]HeatCell, len(down))}
	for i := range t.Cells {
		t.Cells[i] = make([]HeatCell, len(across))
	}
	return t
}

// classAxis returns the classes from the first to the last that count something. Class 0, which is nothing at all, does
// not bring those between it and the next one.
func classAxis(count func(class int) uint64) []HeatClass {
	axis := []HeatClass{}
	gap := 0 // classes that count nothing, at the end of axis
	for class := range Classes {
		n := count(class)
		if n == 0 && len(axis) == 0 {
			continue
		}
		if n > 0 && len(axis)-gap == 1 && axis[0].Class == 0 {
			axis = axis[:1]
		}
		low, high := SizeClass(uint8(class))
		axis = append(axis, HeatClass{Class: uint8(class), Low: low, High: high})
		if gap++; n > 0 {
			gap = 0
		}
	}
	return axis[:len(axis)-gap]
}

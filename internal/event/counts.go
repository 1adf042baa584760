package event

import (
	"math/bits"
	"slices"
)

// Classes of what is counted and not recorded.
const (
	SizeClasses = 48 // class 0: 0 bytes; class i: 2^(i-1) to 2^i - 1 bytes; the last one: all above, too
	TimeClasses = 32 // class i: 2^i to 2^(i+1) - 1 ticks; class 0: 0 and 1; the last one: all above, too
)

// Counts is what the threads of a process have done as far as it was counted and not recorded: in count mode all of it, with --time-calls how
// long the calls took.
type Counts struct {
	// Tick is the unit of the classes of time, in femtoseconds.
	Tick uint64
	Rows []Count // by thread, and then by function
}

// Count is what one thread has done by one function.
type Count struct {
	TID    uint32 // the kernel's thread id; 0: of threads that have ended, of all processes of the executed image
	Name   string // of the thread
	Func   Func
	Frees  bool // the deallocations that the function made; else its allocations. realloc may do both
	Calls  uint64
	Failed uint64 // further calls that failed
	Bytes  uint64 // requested
	Usable uint64 // of the blocks that were allocated, or freed; 0: not known
	Time   uint64 // ns inside of the allocator, of the calls that were timed
	Timed  uint64
	Sizes  []Class // calls by requested size
	Times  []Class // timed calls
}

// Class is how many calls are of a class. Lists of them are in rising order, without empty ones.
type Class struct {
	Class uint8
	Calls uint64
}

// Add adds what another thread has done by it, or another function.
func (c *Count) Add(o *Count) {
	c.Calls += o.Calls
	c.Failed += o.Failed
	c.Bytes += o.Bytes
	c.Usable += o.Usable
	c.Time += o.Time
	c.Timed += o.Timed
	c.Sizes = addClasses(c.Sizes, o.Sizes)
	c.Times = addClasses(c.Times, o.Times)
}

func addClasses(to, from []Class) []Class {
	for _, f := range from {
		i, ok := slices.BinarySearchFunc(to, f.Class, func(a Class, class uint8) int { return int(a.Class) - int(class) })
		if ok {
			to[i].Calls += f.Calls
		} else {
			to = slices.Insert(to, i, f)
		}
	}
	return to
}

// MeanTime is that of a timed call, in ns; 0 if none was timed.
func (c *Count) MeanTime() uint64 {
	if c.Timed == 0 {
		return 0
	}
	return c.Time / c.Timed
}

// TimeQuantile returns the time, in ns, that a share p of the timed calls does not exceed: as near as the classes of time tell, the upper bound of
// one. 0 if no call was timed.
func (c *Counts) TimeQuantile(of *Count, p float64) uint64 {
	total := uint64(0)
	for _, n := range of.Times {
		total += n.Calls
	}
	sum := uint64(0)
	for _, n := range of.Times {
		if sum += n.Calls; float64(sum) >= p*float64(total) {
			_, most := c.TimeClass(int(n.Class))
			return most
		}
	}
	return 0
}

// TimeClass returns the shortest and the longest time of a class, in ns.
func (c *Counts) TimeClass(i int) (least, most uint64) {
	ns := func(ticks uint64) uint64 {
		hi, lo := bits.Mul64(ticks, c.Tick)
		if hi >= 1_000_000 {
			return 1<<64 - 1
		}
		q, _ := bits.Div64(hi, lo, 1_000_000)
		return q
	}
	if i > 0 {
		least = ns(1 << i)
	}
	return least, ns(2 << i)
}

// By sums rows up by a key, in the order in which the keys come first.
func (c *Counts) By(key func(*Count) Count) []Count {
	type id struct {
		tid   uint32
		name  string
		fn    Func
		frees bool
	}
	at := make(map[id]int)
	var list []Count
	for i := range c.Rows {
		k := key(&c.Rows[i])
		n := id{k.TID, k.Name, k.Func, k.Frees}
		j, ok := at[n]
		if !ok {
			j = len(list)
			at[n] = j
			list = append(list, Count{TID: k.TID, Name: k.Name, Func: k.Func, Frees: k.Frees})
		}
		list[j].Add(&c.Rows[i])
	}
	return list
}

// OfFunc and OfThread are keys for By.
func OfFunc(c *Count) Count { return Count{Func: c.Func, Frees: c.Frees} }

// OfThread is the other one.
func OfThread(c *Count) Count { return Count{TID: c.TID, Name: c.Name} }

package event

import (
	"math/bits"
	"slices"
)

// The numbers of classes into which counted calls are sorted. The last class also holds everything above it.
const (
	SizeClasses = 48 // class 0: 0 bytes; class i: 2^(i-1) to 2^i - 1 bytes
	TimeClasses = 32 // class 0: 0 and 1 ticks; class i: 2^i to 2^(i+1) - 1 ticks
)

// Counts holds what the agent counted instead of recording: in count mode every call, with --time-calls the duration
// of calls.
type Counts struct {
	// Tick is the unit of the time classes, in femtoseconds.
	Tick uint64
	Rows []Count // by thread, and then by function
}

// Count holds one thread's calls of one function.
type Count struct {
	TID    uint32 // the kernel's thread id; 0: all threads that have ended, in all processes of the executed image
	Name   string // of the thread
	Func   Func
	Frees  bool // counts the function's deallocations; else its allocations. realloc may do both
	Calls  uint64
	Failed uint64  // failed calls; Calls does not include them
	Bytes  uint64  // requested
	Usable uint64  // usable bytes of the blocks; 0: not known
	Time   uint64  // ns that the timed calls spent in the allocator
	Timed  uint64  // timed calls
	Sizes  []Class // calls by requested size
	Times  []Class // timed calls by duration
}

// Class is the number of calls in one class. Lists are in ascending order and have no empty classes.
type Class struct {
	Class uint8
	Calls uint64
}

// Add adds another thread's or function's calls.
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
		i, ok := slices.BinarySearchFunc(to, f.Class,
			func(a Class, class uint8) int { return int(a.Class) - int(class) })
		if ok {
			to[i].Calls += f.Calls
		} else {
			to = slices.Insert(to, i, f)
		}
	}
	return to
}

// MeanTime returns the mean duration of a timed call, in ns; 0 if no call was timed.
func (c *Count) MeanTime() uint64 {
	if c.Timed == 0 {
		return 0
	}
	return c.Time / c.Timed
}

// TimeQuantile returns the duration, in ns, that a share p of the timed calls does not exceed, rounded up to the upper
// bound of its time class; 0 if no call was timed.
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

// TimeClass returns the shortest and the longest duration in a time class, in ns.
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

// By sums the rows that have the same key. The sums are in the order in which their keys first occur.
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

// OfFunc is a key for By: one sum for each function.
func OfFunc(c *Count) Count { return Count{Func: c.Func, Frees: c.Frees} }

// OfThread is a key for By: one sum for each thread.
func OfThread(c *Count) Count { return Count{TID: c.TID, Name: c.Name} }

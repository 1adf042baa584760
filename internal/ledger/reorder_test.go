package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// The rule says: of the orders in which allocations and ends alternate at an address, in which each stream's ops keep
// their order, and in which no clock was wrong by more than Skew, the one whose clocks are the least wrong has
// happened. These tests try all orders of up to 7 ops, and compare the best with what the ledger makes of the same
// ops when they come one by one. The ledger does not know what comes next, and settles at once what fits, so that it
// cannot always be as good. How often it may be worse is bounded.

// price says what a story costs: an op that the agent did not record costs less than a clock that is wrong by more than
// the skew, and two of them cost more. Of stories that cost the same, that with the least lag is the best: the sum of
// what the clocks were read too early.
type price struct{ weight, lag int64 }

const (
	gapWeight       = 2 // a deallocation that ends nothing, or a block whose end is missing
	inversionWeight = 3 // an op whose clock was wrong by more than the skew
)

func (p price) less(q price) bool {
	return p.weight < q.weight || p.weight == q.weight && p.lag < q.lag
}

// search tries all orders of ops on one address.
type search struct {
	ops   []Op
	skew  int64
	order []int // of the story being made
	used  []bool
	best  price
	story []int
}

// reallocState says what is known of the block that a stream's realloc was given.
type reallocState uint8

const (
	noBlock reallocState = iota // none was live, or another stream has freed it meanwhile
	hasBlock
	lostBlock // its address was given out again, so the realloc has moved it
)

// place is what is live at the address, and the reallocs under way, by stream.
type place struct {
	live     bool
	reallocs [4]reallocState
}

// do has op happen, and returns how many gaps that takes.
func (p *place) do(op *Op) (gaps int64) {
	become := func(from, to reallocState) (any bool) {
		for i, s := range p.reallocs {
			if s == from {
				p.reallocs[i], any = to, true
			}
		}
		return any
	}
	switch op.Kind {
	case OpAlloc:
		if p.live && !become(hasBlock, lostBlock) {
			gaps++
		}
		p.live = true
	case OpFree:
		if !p.live {
			gaps++
		}
		become(hasBlock, noBlock)
		p.live = false
	case OpReallocBegin:
		if p.live {
			p.reallocs[op.Stream] = hasBlock
		}
	case OpReallocResult:
		s := p.reallocs[op.Stream]
		p.reallocs[op.Stream] = noBlock
		switch here := op.Addr == theAddr; {
		case op.Addr == 0: // it failed
		case s == hasBlock:
			p.live = here
		case s == lostBlock && !here:
		case here && p.live:
			gaps = 2
		default:
			gaps, p.live = 1, p.live || here
		}
	}
	return gaps
}

func (s *search) run() {
	s.used, s.best = make([]bool, len(s.ops)), price{weight: 1 << 40}
	s.from(place{}, 0)
}

func (s *search) from(p place, gaps int64) {
	if gaps*gapWeight > s.best.weight {
		return
	}
	if len(s.order) == len(s.ops) {
		cost := clocks(s.ops, s.order, s.skew)
		if cost.weight += gaps * gapWeight; cost.less(s.best) {
			s.best, s.story = cost, slices.Clone(s.order)
		}
		return
	}
	var streams uint64 // an op of theirs has not happened yet
	for i := range s.ops {
		bit := uint64(1) << s.ops[i].Stream
		if s.used[i] || streams&bit != 0 {
			continue
		}
		streams |= bit
		next := p
		more := next.do(&s.ops[i])
		s.used[i], s.order = true, append(s.order, i)
		s.from(next, gaps+more)
		s.used[i], s.order = false, s.order[:len(s.order)-1]
	}
}

// clocks returns what an order costs: for each set of clocks, those that are wrong by more than the skew are not looked
// at, and the others were read no later than anything that happened before.
func clocks(ops []Op, order []int, skew int64) price {
	best := price{weight: 1 << 40}
sets:
	for wrong := range 1 << len(order) {
		cost, latest := price{}, int64(0)
		for k, i := range order {
			if wrong>>k&1 != 0 {
				cost.weight += inversionWeight
				continue
			}
			lag := latest - ops[i].Time
			if lag > skew || cost.weight > best.weight {
				continue sets
			}
			cost.lag += max(0, lag)
			latest = max(latest, ops[i].Time)
		}
		if cost.less(best) {
			best = cost
		}
	}
	return best
}

const theAddr = 64

// history has threads use one address, whose clocks are read up to skew too early. pace is the longest time between two
// ops, and lost of 100 ops are not recorded.
func history(rng *rand.Rand, pace, skew int64, reallocs bool, lost int) (ops []Op) {
	now := int64(100)
	threads := 2 + rng.Uint32N(3)
	var stamps [4]int64
	do := func(thread uint32, kind OpKind, f event.Func, addr uint64) {
		now += 1 + rng.Int64N(pace)
		lag := int64(0)
		if rng.IntN(3) == 0 {
			lag = rng.Int64N(skew)
		}
		stamps[thread] = max(stamps[thread]+1, now-lag)
		if rng.IntN(100) >= lost {
			op := Op{Time: stamps[thread], Kind: kind, Func: f, Thread: thread, Stream: thread, Addr: addr, Size: 1}
			ops = append(ops, op)
		}
	}
	live := false
	for n := 3 + rng.IntN(4); n > 0; n-- {
		thread := rng.Uint32N(threads)
		switch k := rng.IntN(10); {
		case !live:
			do(thread, OpAlloc, event.Malloc, theAddr)
			live = true
		case !reallocs || k < 6 || len(ops) > 5:
			do(thread, OpFree, event.FreeFunc, theAddr)
			live = false
		default:
			do(thread, OpReallocBegin, event.ReallocFunc, theAddr)
			to := uint64(theAddr)
			switch {
			case k == 6:
				to = 0 // it fails
			case k < 9:
				to = 1024 + 16*uint64(now)
				if live = rng.IntN(2) == 0; live { // another thread is given the address before the result
					do((thread+1)%threads, OpAlloc, event.Malloc, theAddr)
				}
			}
			do(thread, OpReallocResult, event.ReallocFunc, to)
		}
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return int(a.Time - b.Time) })
	return ops[:min(len(ops), 7)]
}

var verbs = [...]string{OpAlloc: "malloc", OpFree: "free", OpReallocBegin: "begin", OpReallocResult: "result"}

func describe(ops []Op) string {
	var s strings.Builder
	for i := range ops {
		fmt.Fprintf(&s, "%d:%d%c %s %d  ", i, ops[i].Time, 'A'+ops[i].Thread, verbs[ops[i].Kind], ops[i].Addr)
	}
	return s.String()
}

// TestBestStory compares the ledger's events with the best of all orders.
func TestBestStory(t *testing.T) {
	t.Parallel()
	const skew = 20
	n := 4000
	if testing.Short() {
		n = 1000
	}
	for _, c := range []struct {
		name     string
		pace     int64
		reallocs bool
		lost     int
		worse    int // at most
	}{
		{"allocations and deallocations", 15, false, 0, 0},
		{"close together", 4, false, 0, 12},
		{"some not recorded", 15, false, 20, 8},
		{"with reallocs", 15, true, 0, 20},
		{"with reallocs, close together", 4, true, 0, 50},
		{"with reallocs, some not recorded", 15, true, 20, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(11, 12))
			worse, ties := 0, uint64(0)
			for range n {
				s := search{ops: history(rng, c.pace, skew, c.reallocs, c.lost), skew: skew}
				s.run()
				l := New(false)
				l.Skew = skew
				var events []string
				emit := func(e *Event) {
					events = append(events, fmt.Sprintf("%d%c %s #%d", e.Time, 'A'+e.Thread, e.Kind, int64(e.Ref)))
				}
				for i := range s.ops {
					l.Add(&s.ops[i], emit)
				}
				l.FinishTo(emit)
				k := l.Counts()
				ties += k.Ties
				if w := gapWeight*int64(k.Unmatched+k.Unseen) + inversionWeight*int64(k.Inversions); w > s.best.weight {
					if worse++; testing.Verbose() && worse < 10 {
						t.Logf("%s\nbest: %v, which costs %+v\nledger: %q, which costs %d: %+v",
							describe(s.ops), s.story, s.best, events, w, k)
					}
				}
			}
			t.Logf("%d of %d are not as good as the best order; %d ties were put right", worse, n, ties)
			if worse > c.worse {
				t.Errorf("%d of %d are not as good as the best order, at most %d may be", worse, n, c.worse)
			}
			if ties < uint64(n/10) {
				t.Errorf("only %d ties: this test tests nothing", ties)
			}
		})
	}
}

package query

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
)

// Transient sums up the blocks that one function's calls allocated and freed again within regions of one title. The
// function is the innermost one that was active both at the allocation and at the deallocation.
type Transient struct {
	Region   string
	Function profile.Frame
	Blocks   uint64
	Bytes    uint64 // requested
}

// ErrNoFreeStacks says that a recording has no call stacks of deallocations.
var ErrNoFreeStacks = errors.New("the recording has no call stacks of deallocations; record with --free-stacks")

// Transients answers with what threads allocated in a region and freed before they left it, most bytes first. A block
// counts in the innermost region that was entered before and left after it.
func Transients(ctx context.Context, s *Source) ([]Transient, error) {
	type key struct {
		region   string
		function Group
	}
	type pair struct{ alloc, free uint32 }
	var list []Transient
	var frees, stacks int
	places, common := make(map[key]int), make(map[pair]profile.Frame)
	born := make(map[uint64]int) // by allocation: its row
	w := newRegionWalk(s)
	_, err := Events(ctx, s, &Query{}, func(n, ref uint64, e *event.Event) error {
		w.upTo(n)
		if e.Kind == event.Alloc {
			if row := w.row(n, e.Thread); row >= 0 {
				born[ref] = row
			}
			return nil
		}
		at, ok := born[ref]
		if e.Kind != event.Free || !ok {
			return nil
		}
		delete(born, ref)
		if frees++; e.FreeStack != 0 {
			stacks++
		}
		if at = w.within(w.row(n, e.Thread), at); at < 0 || e.Thread != e.BornBy || e.FreeStack == 0 {
			return nil
		}
		p := pair{e.Stack, e.FreeStack}
		f, ok := common[p]
		if !ok {
			f = s.commonFunction(e.Stack, e.FreeStack)
			common[p] = f
		}
		k := key{w.rows[at].Title, groupOf(ByFunction, &f)}
		i, ok := places[k]
		if !ok {
			i = len(list)
			places[k] = i
			list = append(list, Transient{Region: k.region, Function: f})
		}
		blocks, bytes := e.Weight()
		list[i].Blocks += blocks
		list[i].Bytes += bytes
		return nil
	})
	if err == nil && frees > 0 && stacks == 0 {
		err = ErrNoFreeStacks
	}
	slices.SortStableFunc(list, func(a, b Transient) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Blocks, a.Blocks))
	})
	return list, err
}

// within returns the row of the innermost region that contains both rows now and born, where now is that of an open
// region; -1: none.
func (w *regionWalk) within(now, born int) int {
	for now > born {
		now = w.around[now]
	}
	return now
}

// commonFunction returns the innermost function that two call stacks have in common, counted from the root.
func (s *Source) commonFunction(one, other uint32) profile.Frame {
	a, b := s.allFrames(one), s.allFrames(other)
	var f profile.Frame
	for i := 1; i <= min(len(a), len(b)); i++ {
		x, y := a[len(a)-i], b[len(b)-i]
		if groupOf(ByFunction, &x) != groupOf(ByFunction, &y) {
			break
		}
		f = x
	}
	return f
}

package query

import "github.com/heaptap/heaptap/internal/event"

// funcs keeps of each live block by which function it was allocated, by the number of the allocation. Blocks that are live
// together mostly have numbers that are near.
type funcs struct {
	pages map[uint64]*funcPage
	last  *funcPage // the page that was asked for last
	at    uint64    // its number
}

type funcPage struct {
	live int
	of   [1 << 12]event.Func
}

func (f *funcs) page(n uint64) *funcPage {
	if f.last == nil || f.at != n {
		f.last, f.at = f.pages[n], n
	}
	return f.last
}

// set takes note of an allocation.
func (f *funcs) set(ref uint64, of event.Func) {
	n := ref / (1 << 12)
	p := f.page(n)
	if p == nil {
		if f.pages == nil {
			f.pages = make(map[uint64]*funcPage)
		}
		p = &funcPage{}
		f.pages[n], f.last = p, p
	}
	if p.of[ref%(1<<12)] == event.FuncUnknown && of != event.FuncUnknown {
		p.live++
	}
	p.of[ref%(1<<12)] = of
}

// take returns the function of a block that is freed, and forgets it; FuncUnknown if it is not known.
func (f *funcs) take(ref uint64) event.Func {
	n := ref / (1 << 12)
	p := f.page(n)
	if p == nil {
		return event.FuncUnknown
	}
	of := p.of[ref%(1<<12)]
	if p.of[ref%(1<<12)] = event.FuncUnknown; of != event.FuncUnknown {
		if p.live--; p.live == 0 {
			delete(f.pages, n)
			f.last = nil
		}
	}
	return of
}

package query

import (
	"math/bits"

	"github.com/heaptap/heaptap/internal/event"
)

func (v *Values) alloc(e *event.Event) {
	if v.Allocations == 0 || e.Size < v.MinSize {
		v.MinSize = e.Size
	}
	v.MaxSize = max(v.MaxSize, e.Size)
	v.Allocations++
	v.Bytes += e.Size
	if e.Size == 0 {
		v.ZeroSize++
	}
	if e.Flags&event.Realloc != 0 {
		v.Reallocations++
		if e.Flags&event.InPlace != 0 {
			v.InPlace++
		}
	}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		v.Slack += e.Usable - e.Size
		v.SlackCount++
	}
}

func (v *Values) free(e *event.Event) {
	age := lifetime(e)
	if v.Deallocations == 0 || age < v.MinLifetime {
		v.MinLifetime = age
	}
	v.MaxLifetime = max(v.MaxLifetime, age)
	v.Deallocations++
	v.FreedBytes += e.Size
	if e.Flags&event.Temporary != 0 {
		v.Temporary++
		v.TemporaryBytes += e.Size
	}
	var carry uint64
	v.Lifetime.Lo, carry = bits.Add64(v.Lifetime.Lo, age, 0)
	v.Lifetime.Hi += carry
}

// move adds a block to what is live, or takes it away.
func move(bytes, blocks *uint64, e *event.Event) {
	if e.Kind == event.Alloc {
		*bytes += e.Size
		*blocks++
		return
	}
	*bytes -= e.Size
	*blocks--
}

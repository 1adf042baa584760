package query

import (
	"github.com/heaptap/heaptap/internal/event"
)

func (v *Values) alloc(e *event.Event) {
	if v.Allocations == 0 || e.Size < v.MinSize {
		v.MinSize = e.Size
	}
	v.MaxSize = max(v.MaxSize, e.Size)
	n, bytes := e.Weight()
	v.Allocations += n
	v.Bytes += bytes
	if e.Size == 0 {
		v.ZeroSize += n
	}
	if e.Flags&event.Realloc != 0 {
		v.Reallocations += n
		if e.Flags&event.InPlace != 0 {
			v.InPlace += n
		}
	}
	if e.Flags&event.HasUsable != 0 && e.Usable >= e.Size {
		v.Slack += n * (e.Usable - e.Size)
		v.SlackCount += n
	}
	v.countError(e)
}

func (v *Values) free(e *event.Event) {
	age := lifetime(e)
	if v.Deallocations == 0 || age < v.MinLifetime {
		v.MinLifetime = age
	}
	v.MaxLifetime = max(v.MaxLifetime, age)
	n, bytes := e.Weight()
	v.Deallocations += n
	v.FreedBytes += bytes
	if e.Flags&event.Temporary != 0 {
		v.Temporary++
		v.TemporaryBytes += e.Size
	}
	v.Lifetime.Add(age, n)
	v.countError(e)
}

// move adds a block to what is live, or removes it.
func move(bytes, blocks *uint64, e *event.Event) {
	n, b := e.Weight()
	if e.Kind == event.Alloc {
		*bytes += b
		*blocks += n
		return
	}
	*bytes -= b
	*blocks -= n
}

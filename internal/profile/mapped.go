package profile

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/tally"
)

// MappedSites returns the call stacks that mapped memory, those with most of the peak first.
func MappedSites(m *tally.Mapped) []tally.Site {
	list := slices.Clone(m.Sites)
	slices.SortStableFunc(list, func(a, b tally.Site) int {
		return cmp.Or(cmp.Compare(b.LiveAtPeak, a.LiveAtPeak), cmp.Compare(b.OwnPeak, a.OwnPeak))
	})
	return list
}

package profile

import (
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Unseen says why the recording has no allocations although the program may have made some: recording was off, or none
// was sampled. It is "" if there are allocations, if the program made none, and for merged and imported recordings.
func (p *Profile) Unseen() string {
	switch {
	case p.Totals.Allocations > 0 || p.Totals.Failed > 0 || p.Merged != nil:
		return ""
	case p.wasOff():
		return "recording was off"
	case p.Process.Sampling != (event.Sampling{}):
		return "none of its allocations was sampled"
	}
	return ""
}

// wasOff says whether recording was off, at the beginning or later.
func (p *Profile) wasOff() bool {
	return slices.ContainsFunc(p.Process.Env, func(e string) bool {
		return e == "HEAPTAP_START=off" || e == "HEAPTAP_MODE=off" || strings.HasPrefix(e, "HEAPTAP_START_AFTER=")
	}) || slices.ContainsFunc(p.Marks, func(m event.Mark) bool {
		return m.Source == event.FromMode &&
			m.Name == "mode off"
	})
}

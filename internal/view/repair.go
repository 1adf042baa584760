package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/recording"
)

// Repaired writes what was damaged of a recording, and how much of it was kept.
func Repaired(w io.Writer, from, to string, found *recording.Repaired) error {
	var b strings.Builder
	for _, s := range found.Damage {
		fmt.Fprintf(&b, "%s: %s\n", clean(from), clean(s))
	}
	fmt.Fprintf(&b, "%s: %s events kept", clean(to), humanize.Number(found.Events))
	switch {
	case found.Lost > 0 && found.Ended:
		fmt.Fprintf(&b, ", %s lost", humanize.Number(found.Lost))
	case found.Lost > 0:
		fmt.Fprintf(&b, ", %s lost and all that came later", humanize.Number(found.Lost))
	case !found.Ended:
		fmt.Fprint(&b, "; what came later is lost")
	case found.Incomplete:
		fmt.Fprint(&b, ", none lost")
	default:
		fmt.Fprint(&b, "; nothing is lost")
	}
	if found.Unmatched > 0 {
		fmt.Fprintf(&b, "; %s deallocations of lost blocks count as unmatched", humanize.Number(found.Unmatched))
	}
	if found.Unseen > 0 {
		fmt.Fprintf(&b, "; %s blocks count as unseen", humanize.Number(found.Unseen))
	}
	_, err := fmt.Fprintln(w, b.String())
	return err
}

package view

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/humanize"
)

// lagShown is the shortest lag of a recorder that is shown.
const lagShown = 100 * time.Millisecond

// Processes writes the state of the recordings that are under way.
func Processes(w io.Writer, list []control.Process) error {
	out := bufio.NewWriter(w)
	for _, p := range list {
		lag := "up to date"
		if p.LagNS > int64(lagShown) {
			lag = "lags " + humanize.Duration(p.LagNS) + " behind"
		}
		lost := ""
		if p.LostEvents > 0 {
			lost = fmt.Sprintf(" · %s events lost", humanize.Number(p.LostEvents))
		}
		fmt.Fprintf(out, "%d %s · mode %s · %s events · %s live in %s blocks · %s%s\n  %s\n", p.PID, clean(p.Program),
			clean(p.Mode), humanize.Number(p.Events), humanize.Size(p.LiveBytes), humanize.Number(p.LiveBlocks), lag,
			lost, clean(p.File))
	}
	return out.Flush()
}

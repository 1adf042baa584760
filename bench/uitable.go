package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// eventsOf returns how many events the range of an answer has.
func eventsOf(text []byte) (float64, error) {
	var x struct {
		Answer struct {
			Range struct {
				From float64 `json:"from_event"`
				To   float64 `json:"to_event"`
			}
		}
	}
	if err := json.Unmarshal(text, &x); err != nil {
		return 0, fmt.Errorf("an answer: %w", err)
	}
	if n := x.Answer.Range.To - x.Answer.Range.From; n > 0 {
		return n, nil
	}
	return 0, errors.New("an answer has no range with events")
}

// uiSection returns the section that bench-ui writes.
func uiSection(recordings, runs []*uiMeasured) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nWritten by `make bench-ui`: questions to `heaptap serve` over HTTP, up to %d times "+
		"each after the first, about random ranges and pages. Wall time in ms unless the row says otherwise, with "+
		"encoding, compression and transfer: median / 95th percentile. The goal is for the median, or for the 95th "+
		"percentile where it says p95. In bold: worse than its goal. Machine: %s.\n\n", uiHeading, uiRounds, machine())
	if len(recordings) > 0 {
		uiTable(&b, recordingRows(), recordings)
		b.WriteString("After a client has disconnected, the server counts as busy until the only worker of the " +
			"background lane answers another question and less than a quarter of a core is in use. There is no " +
			"number where every answer came before the client left.\n\n")
	}
	if len(runs) > 0 {
		uiTable(&b, runRows, runs)
	}
	for _, m := range append(recordings[:len(recordings):len(recordings)], runs...) {
		if m.what != "" {
			fmt.Fprintf(&b, "- **%s**: %s\n", m.name, m.what)
		}
	}
	return b.String() + "\n"
}

// uiTable writes a table: a line for each row, a column for each recording.
func uiTable(b *strings.Builder, rows []row, list []*uiMeasured) {
	b.WriteString("| question | goal |")
	rule := "|---|--:|"
	for _, m := range list {
		fmt.Fprintf(b, " %s |", m.name)
		rule += "--:|"
	}
	b.WriteString("\n" + rule + "\n")
	for _, r := range rows {
		name := r.name
		if r.unit != "" {
			name += ", " + r.unit
		}
		fmt.Fprintf(b, "| %s | %s |", name, r.goalText())
		for _, m := range list {
			fmt.Fprintf(b, " %s |", r.text(m))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func (r *row) goalText() string {
	var all []string
	for _, g := range r.goals {
		text := fmt.Sprintf("%g", g.value)
		if g.least {
			text = "≥ " + text
		}
		if g.quantile > .5 {
			text = "p95 " + text
		}
		if g.of != "" {
			text = g.of + ": " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// text is what was measured of a recording: median and 95th percentile, or the only value.
func (r *row) text(m *uiMeasured) string {
	values := m.values[r.name]
	if len(values) == 0 {
		return "-"
	}
	number := func(q float64) string {
		v, bad := quantile(values, q), false
		for _, g := range r.goals {
			bad = bad || (g.of == "" || g.of == m.name) && (g.quantile == q || len(values) == 1) && g.missed(v)
		}
		digits := 1
		if v >= 100 {
			digits = 0
		}
		if bad {
			return fmt.Sprintf("**%.*f**", digits, v)
		}
		return fmt.Sprintf("%.*f", digits, v)
	}
	if len(values) == 1 {
		return number(.5)
	}
	return number(.5) + " / " + number(.95)
}

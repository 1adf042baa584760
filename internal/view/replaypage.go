package view

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/replay"
)

//go:embed replaypage.html
var replayPageText string

// mostTitle is how many characters of the command are the title.
const mostTitle = 200

var replayPage = template.Must(template.New("replay").Parse(replayPageText))

// ReplayPage writes what Replay writes as a page of HTML that needs nothing else. picture is an SVG picture, as
// replaychart writes it.
func ReplayPage(w io.Writer, s *query.Source, r *replay.Results, picture string) error {
	t := newReplayText(io.Discard, s, r, Options{})
	var failures []string
	for _, text := range r.Failures {
		failures = append(failures, clean(text))
	}
	return replayPage.Execute(w, map[string]any{
		"Title": command(s.Profile, mostTitle), "Heads": t.heads(), "Verdict": clean(r.Verdict), "Failures": failures,
		"Lost": t.lost(s), "Tables": t.tables(), "Notes": t.notes(),
		"Picture": template.HTML(picture), // replaychart escapes what it did not write
	})
}

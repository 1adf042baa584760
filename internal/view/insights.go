package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/insight"
)

// mostInsights is how many of the things that stand out a report has.
const mostInsights = 4

// insights writes what stands out, each with a command that shows it.
func (r *report) insights() {
	// The lines about the resident set name mappings already.
	found := slices.DeleteFunc(slices.Clone(r.Found), func(f insight.Finding) bool {
		return f.Rule == insight.Mappings
	})
	if len(found) == 0 {
		return
	}
	r.printf("%s\n", r.title("WHAT STANDS OUT"))
	for i := range found[:min(len(found), mostInsights)] {
		f := &found[i]
		saves := padLeft(f.SavesText(r.Exact), 9)
		indent := strings.Repeat(" ", runes(saves)+2)
		name := funcname.Short(clean(f.Place.Name), usualName)
		lines := fitted(name+clean(insight.Sentence(f.Says, r.Exact)), r.Width-runes(indent))
		for k, line := range lines {
			if k > 0 {
				r.printf("%s%s\n", indent, line)
				continue
			}
			if rest, ok := strings.CutPrefix(line, name); ok {
				line = r.bold(name) + rest
			}
			r.printf("%s  %s\n", r.bold(saves), line)
		}
		how := insight.Sentence(f.Basis, r.Exact)
		if f.Place.File != "" {
			how = fmt.Sprintf("%s:%d · %s", base(f.Place.File), f.Place.Line, how)
		}
		r.wrap(indent, clean(how), r.faint)
		words := []string{"heaptap"}
		for _, w := range append(f.Show.Command(), r.Recording...) {
			words = append(words, shellQuote(w))
		}
		r.wrap(indent, clean(strings.Join(words, " ")), r.place)
	}
	r.printf("\n")
}

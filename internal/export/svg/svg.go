// Package svg draws flame graphs: a self-contained SVG file that any browser shows.
//
// The picture is complete without its script, and can be printed or put into a document. In a browser, a small script
// (flame.js) fits the picture to the window, zooms into frames that are clicked and finds functions by name; keys do
// the same. Each module has its colour, in light and dark mode.
package svg

import (
	"context"
	_ "embed"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is the flame graph.
var Format = export.Format{
	Name:      "svg",
	Tool:      "browsers",
	Extension: ".svg",
	Keeps:     "one metric, exact, as a flame graph to look at, print, zoom and search",
	Loses:     "all other metrics, time, addresses; call stacks that would be narrower than a tenth of a pixel in 1200",
	Metrics:   []query.Metric{query.Peak},
	One:       true,
	By:        export.GroupingsOfTrees,
	Write:     write,
}

//go:embed flame.js
var script string

//go:embed flame.css
var style string

// Dimensions of the picture, px. flame.js reads those that it needs from the picture's attributes.
const (
	width     = 1200 // until the script fits the picture to the window
	margin    = 12
	rowHeight = 18
	titleY    = 28
	subtitleY = 48
	legendY   = 72
	detailsY  = 96
	flameY    = 108
	narrowest = 0.1
	longest   = 250  // the most characters of a label, in the widest window
	charWidth = 6.63 // of a character of a label, 11 px monospace
	inner     = width - 2*margin
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	t, err := in.Trimmed(ctx, query.Trim{Share: narrowest / inner})
	if err != nil {
		return err
	}
	p := &picture{w: w, in: in, metric: t.Metrics[0]}
	p.whole = p.of(&t.Root.Total)
	p.frames(t.Root)
	p.paint = newPaint(p.list, func(f *frame) uint64 { return f.self })
	p.head(t)
	for i := range p.list {
		p.frame(&p.list[i])
	}
	p.printf("</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", script)
	return p.err
}

// picture is a flame graph that is being drawn.
type picture struct {
	w      io.Writer
	in     *export.Input
	metric query.Metric
	whole  uint64
	list   []frame
	depth  int // of the deepest frame
	paint  *paint
	err    error
}

// frame is a rectangle.
type frame struct {
	group       query.Group
	root        bool
	depth       int
	begin       uint64 // left edge, in units of the metric
	value, self uint64
}

func (p *picture) of(v *query.Values) uint64 {
	n, _ := p.metric.Integer(v)
	return n
}

// frames lays out the tree: from left to right, largest first.
func (p *picture) frames(root *query.Node) {
	p.list = append(p.list, frame{root: true, value: p.whole, self: p.of(&root.Self)})
	at := []uint64{0} // left edge of the next frame, by depth
	export.Walk(root, func(n *query.Node, depth int) bool {
		v := p.of(&n.Total)
		if v == 0 {
			return false
		}
		at = append(at[:depth+1], at[depth])
		p.list = append(p.list, frame{group: n.Group, depth: depth + 1, begin: at[depth], value: v,
			self: p.of(&n.Self)})
		p.depth = max(p.depth, depth+1)
		at[depth] += v
		return true
	}, nil)
}

func (p *picture) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// head draws all but the frames.
func (p *picture) head(t *query.Tree) {
	height := flameY + (p.depth+1)*rowHeight + margin
	text := p.metric.Text()
	subtitle := fmt.Sprintf("%s%s: %s, recorded over %s", strings.ToUpper(text[:1]), text[1:], p.amount(p.whole),
		humanize.Duration(t.Span))
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" `+
		`role="graphics-document" aria-labelledby="title subtitle" aria-roledescription="flame graph" tabindex="0" `+
		`data-whole="%d" data-unit="%s" data-margin="%d" data-char="%v">`+"\n", width, height, width, height, p.whole,
		p.unit(), margin, charWidth)
	p.printf("<title>%s</title>\n<style><![CDATA[\n%s%s]]></style>\n", escape(p.in.Title()), style, p.paint.css())
	p.printf(`<rect class="paper" width="100%%" height="100%%"/>` + "\n")
	p.printf(`<text id="title" x="%d" y="%d">%s</text>`+"\n", margin, titleY, escape(cut(p.in.Title(), 110)))
	p.printf(`<text id="subtitle" x="%d" y="%d">%s</text>`+"\n", margin, subtitleY, escape(subtitle))
	p.printf(`<g id="legend">` + "\n")
	x := float64(margin)
	for _, m := range p.paint.legend {
		name := cut(m.name, 40)
		end := x + 16 + float64(len([]rune(name)))*charWidth + 18
		if end > width-margin {
			break
		}
		p.printf(`<rect class="%s" x="%.1f" y="%d" width="11" height="11" rx="2"/><text x="%.1f" y="%d">%s</text>`+"\n",
			m.class(0), x, legendY-10, x+16, legendY, escape(name))
		x = end
	}
	p.printf("</g>\n")
	p.printf(`<text id="details" x="%d" y="%d" aria-live="polite"></text>`+"\n", margin, detailsY)
	p.printf(`<g id="flames" transform="translate(%d %d)">`+"\n", margin, flameY)
}

// unit returns the unit that follows a number.
func (p *picture) unit() string {
	switch p.metric.Unit() {
	case query.ByteCount:
		return "bytes"
	case query.Nanoseconds:
		return "ns"
	}
	return ""
}

// amount returns a value as text: rounded, and exactly.
func (p *picture) amount(v uint64) string {
	exact := strings.TrimSpace(humanize.Number(v) + " " + p.unit())
	short := exact
	switch p.metric.Unit() {
	case query.ByteCount:
		short = humanize.Size(v)
	case query.Nanoseconds:
		short = humanize.Duration(int64(min(v, 1<<62)))
	}
	if short == exact || v < 1024 {
		return exact
	}
	return fmt.Sprintf("%s (%s)", short, exact)
}

// frame draws a rectangle.
func (p *picture) frame(f *frame) {
	scale := float64(inner) / float64(max(p.whole, 1))
	x, wide := float64(f.begin)*scale, float64(f.value)*scale
	name, where := "all", ""
	class := "f all"
	if f.root {
		wide = inner
	} else {
		name, where = p.in.GroupName(&f.group), place(&f.group)
		class = "f " + p.paint.class(&f.group)
	}
	share := ""
	if p.whole > 0 {
		share = fmt.Sprintf(", %.2f %%", 100*float64(f.value)/float64(p.whole))
	}
	title := fmt.Sprintf("%s%s\n%s%s", name, where, p.amount(f.value), share)
	if f.self > 0 && f.self < f.value {
		title += "\nself: " + p.amount(f.self)
	}
	y := f.depth * rowHeight
	p.printf(`<g class="%s" data-b="%d" data-v="%d" data-d="%d"`, class, f.begin, f.value, f.depth)
	if short := funcname.Short(name, longest); short != name {
		p.printf(` data-n="%s"`, escape(short))
	}
	p.printf(`><title>%s</title><rect x="%.2f" y="%d" width="%.2f" height="%d" rx="2"/>`, escape(title), x, y,
		max(wide-0.5, narrowest), rowHeight-1)
	p.printf(`<text x="%.2f" y="%d">%s</text></g>`+"\n", x+4, y+13, escape(label(name, wide)))
}

// place returns a line that says where a function is: its module, or its file and line.
func place(g *query.Group) string {
	switch {
	case g.By == query.ByFunction && g.Module != "":
		return "\n" + g.Module
	case g.File != "" && g.Line != 0:
		return fmt.Sprintf("\n%s:%d", g.File, g.Line)
	}
	return ""
}

// label shortens a name to the width of its frame.
func label(name string, wide float64) string {
	n := int((wide - 7) / charWidth)
	if n < 1 {
		return ""
	}
	if text := funcname.Short(name, n); n >= 5 || !strings.Contains(text, "…") {
		return text
	}
	return "" // too short to be useful
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// escape escapes a text for XML. Characters that XML does not allow become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

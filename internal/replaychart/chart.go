// Package replaychart draws how allocators fared in a replay: an SVG picture of what was resident over the recorded
// time, and bars of what they cost. The picture follows the viewer's choice of light or dark.
package replaychart

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/replay"
)

// Dimensions, px.
const (
	width      = 900
	margin     = 16
	axisWidth  = 64
	plotTop    = 96
	plotHeight = 240
	rowHeight  = 20
	barHeight  = 12
	gap        = 24
	mostTitle  = 88 // characters
)

// colours are how many allocators have a colour of their own, from a palette that colour-blind people can tell apart
// (Okabe and Ito, 2008). Dashes tell more of them apart.
const colours = 6

const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 } .panel { font-weight: 600 } .note { fill: #59636e }
.ground { fill: #ffffff } .axis { stroke: #d1d9e0 } .live { fill: #8c959f; fill-opacity: .25 }
path { fill: none; stroke-width: 1.5 } .all { stroke-width: 1; stroke-dasharray: 2 2 } .more { stroke-dasharray: 8 3 }
.s0 { stroke: #0072b2 } .s1 { stroke: #d55e00 } .s2 { stroke: #009e73 } .s3 { stroke: #cc79a7 } .s4 { stroke: #b38600 }
.s5 { stroke: #2b7a9e }
.f0 { fill: #0072b2 } .f1 { fill: #d55e00 } .f2 { fill: #009e73 } .f3 { fill: #cc79a7 } .f4 { fill: #b38600 }
.f5 { fill: #2b7a9e } .upper { fill-opacity: .35 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .note { fill: #9198a1 } .ground { fill: #0d1117 } .axis { stroke: #3d444d }
.s0 { stroke: #56b4e9 } .f0 { fill: #56b4e9 } .s4 { stroke: #e69f00 } .f4 { fill: #e69f00 }
}
`

// Write draws the results of a replay.
// title is what was recorded.
func Write(w io.Writer, title string, r *replay.Results) error {
	c := &chart{r: r}
	for _, row := range r.Rows {
		c.measure(row.Resident())
		c.measure(row.All)
	}
	c.curves()
	y := c.bars(plotTop + plotHeight + 48)
	if runes := []rune(title); len(runes) > mostTitle {
		title = string(runes[:mostTitle-1]) + "…"
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" `+
		`viewBox="0 0 %[1]d %[2]d" `+"role=\"img\">\n<title>%[3]s</title>\n<style>%[4]s</style>\n"+
		`<rect class="ground" width="%[1]d" height="%[2]d" rx="6"/>`+"\n"+
		`<text class="title" x="%[5]d" y="28">%[3]s</text>`+"\n"+
		`<text class="note" x="%[5]d" y="48">%[6]s</text>`+"\n%[7]s</svg>\n",
		width, y, clean(title), style, margin, clean(c.note()), c.b.String())
	return err
}

type chart struct {
	r           *replay.Results
	b           strings.Builder
	begin, end  int64 // of the recorded time
	most        float64
	hasInterval bool // the resident set is known as an interval
}

// draw writes a line of the picture.
func (c *chart) draw(format string, values ...any) { fmt.Fprintf(&c.b, format+"\n", values...) }

// text writes a text at a place. look is its class and what else it has.
func (c *chart) text(look string, x, y float64, text string) {
	c.draw(`<text %s x="%.1f" y="%.1f">%s</text>`, look, x, y, text)
}

// measure makes room for what was resident.
func (c *chart) measure(m *replay.Resident) {
	if m == nil {
		return
	}
	for _, p := range m.Curve {
		if c.end == 0 {
			c.begin = p.Time
		}
		c.begin, c.end = min(c.begin, p.Time), max(c.end, p.Time)
		c.most = max(c.most, p.RSS, float64(p.Live))
	}
}

func (c *chart) note() string {
	p := c.r.Plan
	text := fmt.Sprintf("%s by %s, played %s with each allocator", humanize.Plural(p.Calls, "call"),
		humanize.Plural(uint64(p.Threads), "thread"), humanize.Plural(uint64(c.r.Runs), "time"))
	if c.r.Changed != nil {
		text += "; (what if): of the changed program"
	}
	return text
}

// x and y are where a time and a number of bytes are drawn.
func (c *chart) x(time int64) float64 {
	span := max(c.end-c.begin, 1)
	return margin + axisWidth + float64(width-2*margin-axisWidth)*float64(time-c.begin)/float64(span)
}

func (c *chart) y(bytes float64) float64 { return plotTop + plotHeight*(1-bytes/max(c.most, 1)) }

// curves draws what was resident, and what was live, over the recorded time.
func (c *chart) curves() {
	const panel, note = `class="panel"`, `class="note"`
	c.text(panel, margin, 74, "Resident set over the recorded time")
	x := float64(margin + 268)
	for i, row := range c.r.Rows {
		c.draw(`<path class="%s" d="M%.0f 70h18"/>`, line(i), x)
		c.text("", x+22, 74, clean(row.Name))
		x += 34 + 7*float64(len(row.Name))
	}
	c.draw(`<rect class="live" x="%.0f" y="64" width="18" height="12"/>`, x)
	c.text(note, x+22, 74, "live blocks")
	step := stepOf(c.most, 5)
	for v := 0.0; v <= c.most; v += step {
		at := math.Round(c.y(v)) + .5
		c.draw(`<path class="axis" d="M%d %.1fH%d"/>`, margin+axisWidth, at, width-margin)
		c.text(note+` text-anchor="end"`, margin+axisWidth-6, at+4, humanize.Size(uint64(v)))
	}
	for i := range 5 {
		t := c.begin + (c.end-c.begin)*int64(i)/4
		anchor := [...]string{"start", "middle", "middle", "middle", "end"}[i]
		c.text(note+` text-anchor="`+anchor+`"`, c.x(t), plotTop+plotHeight+18, humanize.Duration(t))
	}
	if len(c.r.Rows) > 0 {
		c.live(c.r.Rows[0].Resident().Curve)
	}
	for i, row := range c.r.Rows {
		low := row.Resident()
		c.path(line(i), low.Curve)
		if row.All != nil && row.All != low {
			c.path(line(i)+" all", row.All.Curve)
			c.hasInterval = true
		}
	}
}

func (c *chart) live(list []replay.CurvePoint) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<polygon class="live" points="%.1f,%.1f`, c.x(list[0].Time), c.y(0))
	for _, p := range list {
		fmt.Fprintf(&c.b, " %.1f,%.1f", c.x(p.Time), c.y(float64(p.Live)))
	}
	fmt.Fprintf(&c.b, " %.1f,%.1f\"/>\n", c.x(list[len(list)-1].Time), c.y(0))
}

func (c *chart) path(class string, list []replay.CurvePoint) {
	for i, p := range list {
		if i == 0 {
			fmt.Fprintf(&c.b, "<path class=\"%s\" d=\"M", class)
		} else {
			c.b.WriteString("L")
		}
		fmt.Fprintf(&c.b, "%.1f %.1f", c.x(p.Time), c.y(p.RSS))
	}
	if len(list) > 0 {
		c.b.WriteString("\"/>\n")
	}
}

// bars draws three panels of bars side by side, and returns where the picture ends.
func (c *chart) bars(y int) int {
	type value struct{ low, high float64 }
	panels := []struct {
		title string
		of    func(row *replay.Row) value
		text  func(v float64) string
	}{
		{"CPU time", func(row *replay.Row) value { return value{row.CPU.Median, row.CPU.Median} }, duration},
		{"99 of 100 calls are faster than", func(row *replay.Row) value {
			return value{row.Latency.P99, row.Latency.P99}
		}, duration},
		{"Peak resident set", func(row *replay.Row) value {
			v := value{row.Resident().Peak.Median, row.Resident().Peak.Median}
			if row.All != nil {
				v.high = max(v.high, row.All.Peak.Median)
			}
			return v
		}, func(v float64) string { return humanize.Size(uint64(v)) }},
	}
	each := (width - 2*margin - gap*(len(panels)-1)) / len(panels)
	const textWidth = 124
	for k, p := range panels {
		x, most := margin+k*(each+gap), 0.0
		for _, row := range c.r.Rows {
			most = max(most, p.of(row).high)
		}
		c.text(`class="panel"`, float64(x), float64(y), p.title)
		for i, row := range c.r.Rows {
			v, top := p.of(row), y+10+2*rowHeight*i
			long := func(v float64) float64 { return max(1.5, float64(each-textWidth)*v/max(most, 1)) }
			bar := func(class string, v float64) {
				c.draw(`<rect class="f%d%s" x="%d" y="%d" width="%.1f" height="%d"/>`, i%colours, class, x,
					top+rowHeight, long(v), barHeight)
			}
			c.text(`class="note"`, float64(x), float64(top+13), clean(row.Name))
			bar(" upper", v.high)
			bar("", v.low)
			c.text("", float64(x)+long(v.high)+6, float64(top+rowHeight+10), interval(p.text(v.low), p.text(v.high)))
		}
	}
	y += 10 + 2*rowHeight*len(c.r.Rows) + 20
	if c.hasInterval {
		for _, text := range []string{
			"A recording does not say what the program wrote to. Lines and full bars: one byte of each block.",
			"Dashes and pale bars: all of its pages.",
		} {
			c.text(`class="note"`, margin, float64(y), text)
			y += 16
		}
		y += 8
	}
	return y
}

// interval is a text for two values, or for one.
func interval(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

// line is the class of an allocator's curves.
func line(i int) string {
	class := fmt.Sprintf("s%d", i%colours)
	if i/colours%2 == 1 {
		class += " more"
	}
	return class
}

// stepOf returns a round number of bytes, of which about n make up the most.
func stepOf(most float64, n int) float64 {
	rough := max(most, 1) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= rough {
			return m * unit
		}
	}
	return 10 * unit
}

func duration(ns float64) string {
	if ns < 1000 {
		return humanize.Digits(ns) + " ns"
	}
	return humanize.Duration(int64(ns))
}

// clean makes a text of the recording, or of a library, harmless in XML.
func clean(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(strings.ToValidUTF8(s, "\uFFFD"))) // a Builder never fails
	return b.String()
}

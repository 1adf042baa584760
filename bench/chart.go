package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// chart is a picture of horizontal bars, in panels that share a scale. Each bar has its name and number beside it, so
// there is no legend; colours say whose tool it is.
type chart struct {
	title, note string
	columns     int // panels in a row
	log         bool
	from        float64 // where the scale begins; smaller values have the shortest bar
	panels      []panel
}

type panel struct {
	title string
	bars  []bar
}

// bar is a number, and the text beside it. NaN: only the text.
type bar struct {
	name, text string
	class      class
	value      float64
}

// Dimensions of the pictures, px.
const (
	chartWidth = 840
	margin     = 12
	nameWidth  = 96
	textWidth  = 68
	rowHeight  = 18
	barHeight  = 12
	headHeight = 54
	panelHead  = 24
	shortest   = 1.5
)

const chartStyle = `
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 } .panel { font-weight: 600 } .note { fill: #59636e }
.ground { fill: #ffffff } .axis { stroke: #d1d9e0 }
.c0 { fill: #8c959f } .c1 { fill: #0969da } .c2 { fill: #d4762c }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .note { fill: #9198a1 } .ground { fill: #0d1117 } .axis { stroke: #3d444d }
.c0 { fill: #6e7681 } .c1 { fill: #4493f8 } .c2 { fill: #db8a4c }
}
`

// svg draws the chart, which follows the viewer's choice of light or dark.
func (c *chart) svg() string {
	width := (chartWidth - margin) / c.columns
	long := float64(width - nameWidth - textWidth - margin)
	scale := c.scale(long)
	var b strings.Builder
	y := headHeight
	for first := 0; first < len(c.panels); first += c.columns {
		row := c.panels[first:min(first+c.columns, len(c.panels))]
		tallest := 0
		for i := range row {
			row[i].draw(&b, margin+i*width, y, scale)
			tallest = max(tallest, len(row[i].bars))
		}
		y += panelHead + tallest*rowHeight + margin
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d "+
		"%[2]d\" role=\"img\">\n<title>%[3]s</title>\n<style>%[4]s</style>\n"+"<rect class=\"ground\" "+
		"width=\"%[1]d\" height=\"%[2]d\" rx=\"6\"/>\n<text class=\"title\" x=\"%[5]d\" y=\"24\">%[3]s</text>\n<text "+
		"class=\"note\" x=\"%[5]d\" y=\"42\">%[6]s</text>\n%[7]s</svg>\n", chartWidth, y, escape(c.title), chartStyle,
		margin, escape(c.note), b.String())
}

// scale returns the length of a bar as a function of its value; the longest bar has the length long.
func (c *chart) scale(long float64) func(float64) float64 {
	most := c.from
	for _, p := range c.panels {
		for _, b := range p.bars {
			if !math.IsNaN(b.value) {
				most = max(most, b.value)
			}
		}
	}
	return func(v float64) float64 {
		part := 0.0
		switch {
		case v <= c.from || most <= c.from:
		case c.log:
			part = math.Log(v/c.from) / math.Log(most/c.from)
		default:
			part = (v - c.from) / (most - c.from)
		}
		return max(shortest, part*long)
	}
}

func (p *panel) draw(b *strings.Builder, x, y int, scale func(float64) float64) {
	fmt.Fprintf(b, "<text class=\"panel\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+14, escape(p.title))
	y += panelHead
	zero := x + nameWidth
	fmt.Fprintf(b, "<line class=\"axis\" x1=\"%d.5\" y1=\"%d\" x2=\"%[1]d.5\" y2=\"%[3]d\"/>\n", zero-1, y,
		y+len(p.bars)*rowHeight)
	for _, r := range p.bars {
		long := 0.0
		if !math.IsNaN(r.value) {
			long = scale(r.value)
			fmt.Fprintf(b, "<rect class=\"c%d\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n", r.class, zero,
				y+(rowHeight-barHeight)/2, long, barHeight)
		}
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", zero-6, y+13, escape(r.name))
		fmt.Fprintf(b, "<text class=\"note\" x=\"%.1f\" y=\"%d\">%s</text>\n", float64(zero)+long+5, y+13,
			escape(r.text))
		y += rowHeight
	}
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}

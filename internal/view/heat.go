package view

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// heatShades are the characters of cells, from the fewest blocks to the most.
var heatShades = []rune("▁▂▃▄▅▆▇█")

// heatColours are the terminal's colours of them: from blue over green and yellow to red.
var heatColours = []string{"34", "34", "36", "36", "32", "33", "33", "31"}

// heatWidths are those of the columns before the cells: the least ones, or what the texts need.
type heatWidths struct{ name, count, bytes int }

func (h *histText) heatWidths(t *query.Heat, s *heatStyle, total query.HeatCell) heatWidths {
	w := heatWidths{22, max(9, runes(h.short(total.Count))+2), max(10, runes(h.size(total.Bytes))+2)}
	for _, c := range t.Down {
		w.name = max(w.name, runes(s.name(c))+1)
	}
	return w
}

const heatShare = 7 // of the column of shares

// heatStyle is what distinguishes one heat map from another.
type heatStyle struct {
	title, of    string
	down, across string                       // what the classes are
	bytes        string                       // what bytes are; "": not shown
	name, head   func(query.HeatClass) string // of a class of down and of across
}

// heat draws a heat map: a row for each class, with a cell for each step of time or each class of the other kind.
func (h *histText) heat(part string) {
	size := func(c query.HeatClass) string { return h.sizeClass(c.Class) }
	switch part {
	case HeatPart(query.HeatTime):
		t := h.SizesByTime()
		h.heatMap(t, &heatStyle{"SIZES BY TIME", humanize.Plural(t.Total().Count, "allocation"), "size", "time",
			"bytes", size, func(c query.HeatClass) string { return h.time(c.Low) }})
	case HeatPart(query.HeatLifetime):
		t := h.LifetimesBySize()
		age := func(c query.HeatClass) string {
			if c.Never {
				return "never freed"
			}
			return h.timeClass(c.Class)
		}
		h.heatMap(t, &heatStyle{"LIFETIMES BY SIZE", humanize.Plural(t.Total().Count, "block"), "lifetime", "size",
			"bytes", age, size})
	case HeatPart(query.HeatReallocs):
		t := h.Reallocations()
		in := t.Total()
		h.heatMap(t, &heatStyle{"SIZES BEFORE AND AFTER REALLOCATIONS",
			fmt.Sprintf("%s, %s in place", humanize.Plural(in.Count, "reallocation"), h.short(in.InPlace)),
			"before", "after", "copied", size, size})
	}
}

func (h *histText) heatMap(t *query.Heat, s *heatStyle) {
	h.printf("%s  %s\n", h.title(s.title), h.faint("of "+s.of))
	total := t.Total()
	if total.Count == 0 {
		h.printf("  %s\n\n", h.faint("there are none"))
		return
	}
	least, most := ^uint64(0), uint64(0)
	widths := h.heatWidths(t, s, total)
	before := widths.name + widths.count + heatShare + widths.bytes + 2
	room := max(h.Width-2-before, 20)
	cells, merged := fittingCells(t, room)
	for _, row := range cells {
		for _, c := range row {
			if c.Count > 0 {
				least, most = min(least, c.Count), max(most, c.Count)
			}
		}
	}
	wide := 1
	for wide < 3 && len(cells[0])*(wide+1) <= room {
		wide++
	}
	h.printf("  %s\n", h.faint(padLeft(s.down, widths.name)+padLeft("count", widths.count)+padLeft("share", heatShare)+
		padLeft(s.bytes, widths.bytes)+"  "+s.across+" →"))
	for i, row := range cells {
		h.printf("  %s  %s\n", h.heatNumbers(widths, s.name(t.Down[i]), t.Row(i), total),
			h.heatRow(row, least, most, wide))
	}
	h.printf("  %s\n", h.bold(h.heatNumbers(widths, "all of these", total, total)))
	last := t.Across[len(t.Across)-1]
	text := fmt.Sprintf("from %s to %s", s.head(t.Across[0]), s.head(last))
	if s.across == "time" {
		text = fmt.Sprintf("from %s to %s, %s a column", h.time(t.Across[0].Low), h.time(last.High),
			h.time((last.High-t.Across[0].Low)/uint64(len(cells[0]))))
	} else if merged > 1 {
		text += fmt.Sprintf(", %d classes a column", merged)
	}
	h.printf("  %s%s\n", strings.Repeat(" ", before), h.faint(s.across+" "+text))
	legend := h.heatCells(heatShade(least, least, most), 1) + h.faint(" "+h.short(least)+" … ") +
		h.heatCells(len(heatShades)-1, 1) + h.faint(" "+h.short(most))
	h.printf("  %s%s%s\n\n", strings.Repeat(" ", before), h.faint("blocks "), legend)
}

// heatNumbers writes what stands before the cells of a row.
func (h *histText) heatNumbers(w heatWidths, name string, sum, total query.HeatCell) string {
	return padLeft(name, w.name) + padLeft(h.short(sum.Count), w.count) +
		padLeft(humanize.Percent(sum.Count, total.Count), heatShare) + padLeft(h.size(sum.Bytes), w.bytes)
}

// fittingCells returns the cells of each row, at most as many as there is room for: then so many neighbours are one.
func fittingCells(t *query.Heat, room int) (cells [][]query.HeatCell, merged int) {
	merged = (len(t.Across) + room - 1) / room
	for _, row := range t.Cells {
		list := make([]query.HeatCell, (len(row)+merged-1)/merged)
		for i, c := range row {
			list[i/merged].Add(c)
		}
		cells = append(cells, list)
	}
	return cells, merged
}

// heatRow draws cells; equal neighbours have one colour in common.
func (h *histText) heatRow(row []query.HeatCell, least, most uint64, wide int) string {
	var out strings.Builder
	for i := 0; i < len(row); {
		shade, first := heatShade(row[i].Count, least, most), i
		for i < len(row) && heatShade(row[i].Count, least, most) == shade {
			i++
		}
		out.WriteString(h.heatCells(shade, (i-first)*wide))
	}
	return out.String()
}

// heatShade is the index of a count in heatShades: the more powers of two it is above the least one, the higher. -1:
// there is nothing.
func heatShade(n, least, most uint64) int {
	top := len(heatShades) - 1
	span := bits.Len64(most) - bits.Len64(least)
	switch {
	case n == 0:
		return -1
	case span == 0:
		return top
	}
	return (bits.Len64(n) - bits.Len64(least)) * top / span
}

// heatCells draws so many characters of a shade.
func (h *histText) heatCells(shade, n int) string {
	if shade < 0 {
		return h.faint(strings.Repeat("·", n))
	}
	return h.paint(heatColours[shade], strings.Repeat(string(heatShades[shade]), n))
}

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

// Widths of a heat map.
const (
	heatName  = 22
	heatCount = 9
	heatBytes = 10
)

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
		h.heatMap(t, &heatStyle{"SIZES BY TIME", humanize.Plural(t.Total().Count, "allocation"), "size", "time", "bytes",
			size, func(c query.HeatClass) string { return h.time(c.Low) }})
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
	cells, merged := h.fittingCells(t)
	for _, row := range cells {
		for _, c := range row {
			if c.Count > 0 {
				least, most = min(least, c.Count), max(most, c.Count)
			}
		}
	}
	room := h.heatRoom()
	wide := 1
	for wide < 3 && len(cells[0])*(wide+1) <= room {
		wide++
	}
	before := strings.Repeat(" ", heatName+heatCount+7+heatBytes+2)
	h.printf("  %s\n", h.faint(padLeft(s.down, heatName)+padLeft("count", heatCount)+padLeft("share", 7)+
		padLeft(s.bytes, heatBytes)+"  "+s.across+" →"))
	for i, row := range cells {
		var picture strings.Builder
		for _, c := range row {
			picture.WriteString(h.heatCell(c.Count, least, most, wide))
		}
		sum := t.Row(i)
		h.printf("  %s\n", strings.TrimRight(padLeft(s.name(t.Down[i]), heatName)+padLeft(h.short(sum.Count), heatCount)+
			padLeft(humanize.Percent(sum.Count, total.Count), 7)+padLeft(h.size(sum.Bytes), heatBytes)+"  "+
			picture.String(), " "))
	}
	h.printf("  %s\n", h.bold(padLeft("all of these", heatName)+padLeft(h.short(total.Count), heatCount)+
		padLeft(humanize.Percent(total.Count, total.Count), 7)+padLeft(h.size(total.Bytes), heatBytes)))
	last := t.Across[len(t.Across)-1]
	text := fmt.Sprintf("from %s to %s", s.head(t.Across[0]), s.head(last))
	if s.across == "time" {
		text = fmt.Sprintf("from %s to %s, %s a column", h.time(t.Across[0].Low), h.time(last.High),
			h.time((last.High-t.Across[0].Low)/uint64(len(cells[0]))))
	} else if merged > 1 {
		text += fmt.Sprintf(", %d classes a column", merged)
	}
	h.printf("  %s%s\n", before, h.faint(s.across+" "+text))
	h.printf("  %s%s%s\n\n", before, h.faint("blocks "),
		h.heatCell(least, least, most, 1)+h.faint(" "+h.short(least)+" … ")+h.heatCell(most, least, most, 1)+
			h.faint(" "+h.short(most)))
}

// heatRoom is how many characters there are for a row of cells.
func (h *histText) heatRoom() int { return max(h.Width-2-heatName-heatCount-7-heatBytes-2, 20) }

// fittingCells returns the cells of each row. If there is no room for all of them, so many neighbours are one.
func (h *histText) fittingCells(t *query.Heat) (cells [][]query.HeatCell, merged int) {
	merged = (len(t.Across) + h.heatRoom() - 1) / h.heatRoom()
	for _, row := range t.Cells {
		list := make([]query.HeatCell, (len(row)+merged-1)/merged)
		for i, c := range row {
			list[i/merged].Add(c)
		}
		cells = append(cells, list)
	}
	return cells, merged
}

// heatCell draws a cell: the higher, the more powers of two its count is above the least one.
func (h *histText) heatCell(n, least, most uint64, wide int) string {
	if n == 0 {
		return h.faint(strings.Repeat("·", wide))
	}
	shade, range2 := len(heatShades)-1, bits.Len64(most)-bits.Len64(least)
	if range2 > 0 {
		shade = (bits.Len64(n) - bits.Len64(least)) * shade / range2
	}
	return h.paint(heatColours[shade], strings.Repeat(string(heatShades[shade]), wide))
}

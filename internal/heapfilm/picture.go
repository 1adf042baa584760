// Package heapfilm draws the heap of a recorded process: one picture, or a film of several moments.
//
// A picture has a cell for each page, or for some pages, on which blocks ever lay. Bands of cells are arenas, mappings
// and the program's own heap, the lowest address first, each with a label. Below is how many bytes were live over time,
// and what the colours mean. All pictures of a film have one palette and one layout.
package heapfilm

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"

	"golang.org/x/image/font"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
)

// Limits of a picture's size, in pixels.
const (
	MinWidth, MinHeight = 480, 320
	MaxWidth, MaxHeight = 7680, 4320
)

// Look is how pictures look.
type Look struct {
	Width, Height int
	Theme         Theme
	Title         string // what was recorded
}

// Distances in units. A unit is a pixel of a picture of 1200 x 720.
const (
	margin      = 24
	gutter      = 176 // of labels, at the left
	headHeight  = 56
	curveHeight = 58 // and up to mostCurve if the cells leave room
	mostCurve   = 150
	bandGap     = 9
	legendRow   = 22
	smallest    = 4  // cell that Cells counts on
	largest     = 26 // cell
)

// geometry is where the parts of a picture are.
type geometry struct {
	unit          float64
	width, height int
	cells         image.Rectangle // area of all cells
	curve         image.Rectangle
	legend        int // baseline of its first line
}

func (g *geometry) px(units float64) int { return int(math.Round(units * g.unit)) }

func newGeometry(l *Look, color query.HeapColor) geometry {
	g := geometry{width: l.Width, height: l.Height}
	g.unit = max(min(float64(l.Width)/1200, float64(l.Height)/720), 0.75)
	left, right := g.px(margin+gutter), l.Width-g.px(margin)
	rows := 1
	if color == query.ColorStack || color == query.ColorThread {
		rows = 2
	}
	g.legend = l.Height - g.px(margin) - g.px(legendRow)*(rows-1)
	bottom := g.legend - g.px(46)
	g.curve = image.Rect(left, bottom-g.px(curveHeight), right, bottom)
	g.cells = image.Rect(left, g.px(margin+headHeight), right, g.curve.Min.Y-g.px(24))
	return g
}

// Room is how many cells have room in pictures of that look.
func Room(l *Look, color query.HeapColor) int {
	g := newGeometry(l, color)
	columns, rows := g.cells.Dx()/g.px(smallest), g.cells.Dy()/g.px(smallest)
	return columns * max(rows*3/4, 1) // bands need some, and end within a row
}

// Film is a film that can be drawn.
type Film struct {
	*query.HeapFilm
	Curve   *query.ProcessTimeline // of the time that the picture shows
	look    Look
	palette *Palette
	fonts   *fonts
	geometry
	pitch, edge int // pixels from one cell to the next; of a cell
	columns     int
	tops        []int           // of each band's cells
	back        *image.Paletted // what all pictures have in common
	most        uint64          // live bytes at the top of the curve
}

// New prepares the pictures of a film.
func New(f *query.HeapFilm, curve *query.ProcessTimeline, look Look) (*Film, error) {
	p := &Film{HeapFilm: f, Curve: curve, look: look, palette: newPalette(look.Theme, f.Color)}
	p.geometry = newGeometry(&look, f.Color)
	var err error
	if p.fonts, err = newFonts(p.unit); err != nil {
		return nil, err
	}
	if err := p.arrange(); err != nil {
		return nil, err
	}
	p.back = image.NewPaletted(image.Rect(0, 0, look.Width, look.Height), p.palette.colors)
	p.drawBack()
	return p, nil
}

// arrange finds the largest cells with which everything has room.
func (p *Film) arrange() error {
	for p.pitch = p.px(largest); p.pitch >= 1; p.pitch-- {
		p.columns = p.cells.Dx() / p.pitch
		p.tops = p.tops[:0]
		y := p.cells.Min.Y
		for i := range p.Bands {
			p.tops = append(p.tops, y)
			y += max(p.rowsOf(i)*p.pitch, p.px(17)) + p.px(bandGap)
		}
		if y-p.px(bandGap) <= p.cells.Max.Y {
			p.edge = p.pitch - max(p.pitch/8, 1)
			if p.pitch < 3 {
				p.edge = p.pitch
			}
			p.curve.Min.Y -= min(p.cells.Max.Y-y+p.px(bandGap), p.px(mostCurve-curveHeight))
			return nil
		}
	}
	return errors.New("the picture is too small for so many pages")
}

func (p *Film) rowsOf(band int) int { return (p.Bands[band].Cells + p.columns - 1) / p.columns }

// CellAt returns where a cell is.
func (p *Film) CellAt(cell int) image.Rectangle {
	for i := range p.Bands {
		if at := cell - p.Bands[i].First; at >= 0 && at < p.Bands[i].Cells {
			x, y := p.cells.Min.X+at%p.columns*p.pitch, p.tops[i]+at/p.columns*p.pitch
			return image.Rect(x, y, x+p.edge, y+p.edge)
		}
	}
	return image.Rectangle{}
}

// ColorOf returns the colour of a cell in a picture, as #rrggbb.
func (p *Film) ColorOf(picture, cell int) string {
	return p.palette.hex(p.placeOf(&p.Pictures[picture], cell))
}

// placeOf is the place of a cell's colour in the palette.
func (p *Film) placeOf(x *query.HeapPicture, cell int) uint8 {
	switch {
	case p.Capacity[cell] == 0:
		return atPage
	case x.Fill[cell] == 0 && x.Resident != nil && x.Resident[cell] > 0:
		return atHeld
	case x.Fill[cell] == 0:
		return atEmpty
	case x.Tint != nil:
		return p.palette.cell(x.Fill[cell], x.Tint[cell], max(len(p.Groups), 1))
	case p.HeapFilm.Color == query.ColorAge:
		return p.palette.cell(x.Fill[cell], x.Age[cell], 0)
	}
	return p.palette.cell(x.Fill[cell], 0, 0)
}

// fillRect fills a rectangle with a colour of the palette.
func fillRect(to *image.Paletted, r image.Rectangle, place uint8) {
	r = r.Intersect(to.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := to.Pix[to.PixOffset(r.Min.X, y):][:r.Dx()]
		for i := range row {
			row[i] = place
		}
	}
}

// hatch draws lines over a cell of which live bytes are not in memory, in the colour of what is neither. A cell of one
// pixel has no room for them: it would look empty.
func hatch(to *image.Paletted, r image.Rectangle) {
	if r.Dx() < 2 {
		return
	}
	period := max(r.Dx()/3, 3)
	for y := range r.Dy() {
		for x := range r.Dx() {
			if (x+y)%period < max(period/3, 1) {
				to.SetColorIndex(r.Min.X+x, r.Min.Y+y, atEmpty)
			}
		}
	}
}

// drawBack draws what all pictures have in common.
func (p *Film) drawBack() {
	x := p.px(margin)
	title := escape.Terminal(p.look.Title)
	half := p.width/2 - x
	drawText(p.back, p.fonts.title, x, p.px(margin+16), atText, fitted(p.fonts.title, title, half))
	drawText(p.back, p.fonts.body, x, p.px(margin+37), atQuiet, fitted(p.fonts.body, p.subtitle(), half))
	if len(p.Bands) == 0 {
		drawText(p.back, p.fonts.body, p.cells.Min.X, p.cells.Min.Y+p.px(12), atQuiet, "No block was live until then.")
	}
	for i := range p.Bands {
		p.drawLabel(i)
	}
	p.drawCurve()
	p.drawLegend()
}

func (p *Film) subtitle() string {
	pages := humanize.Plural(p.pages(), "page") + " of 4 KiB"
	switch p.HeapFilm.Color {
	case query.ColorAge:
		return pages + ", by how old the blocks on them are"
	case query.ColorStack:
		return pages + ", by the function that allocated most on them"
	case query.ColorThread:
		return pages + ", by the thread that allocated most on them"
	}
	return pages + ", by how full they are"
}

func (p *Film) pages() (n uint64) {
	for i := range p.Bands {
		n += p.Bands[i].Pages
	}
	return n
}

// drawLabel draws the label of a band: as many of its lines as there is room for.
func (p *Film) drawLabel(band int) {
	b := &p.Bands[band]
	height := max(p.rowsOf(band)*p.pitch, p.px(17))
	lines := []string{p.BandName(band),
		fmt.Sprintf("%s at %#x", humanize.Size(b.Pages*query.PageSize), b.Runs[0].From*query.PageSize)}
	if b.CellPages > 1 {
		lines = append(lines, fmt.Sprintf("a cell is %s", humanize.Binary(b.CellPages*query.PageSize)))
	}
	y := p.tops[band] + p.px(12)
	for i, text := range lines {
		face, ink := p.fonts.small, uint8(atQuiet)
		if i == 0 {
			face, ink = p.fonts.name, atText
		}
		if i > 0 && y > p.tops[band]+height+p.px(2) {
			break
		}
		drawText(p.back, face, p.px(margin), y, ink, fitted(face, text, p.px(gutter-12)))
		y += p.px(16)
	}
}

// soleOwner is what share of an arena's blocks one thread has to allocate for it to be that thread's arena.
const soleOwner = 0.9

// BandName names a band.
func (p *Film) BandName(band int) string {
	b := &p.Bands[band]
	name := b.Kind.String()
	if b.Kind == query.Arena && len(b.Threads) > 0 && b.Threads[0].Share >= soleOwner {
		name += " of " + escape.Terminal(b.Threads[0].Name)
	}
	return name
}

// drawCurve draws how many bytes were live, as it is after the moment of the picture.
func (p *Film) drawCurve() {
	p.most = 1
	for _, n := range p.Curve.Most {
		p.most = max(p.most, n)
	}
	r := p.curve
	for x := range r.Dx() {
		p.column(p.back, x, atCurve)
	}
	fillRect(p.back, image.Rect(r.Min.X, r.Max.Y, r.Max.X, r.Max.Y+1), atLine)
	left, y := p.px(margin), r.Min.Y+p.px(11)
	drawText(p.back, p.fonts.name, left, y, atText, "live bytes")
	drawText(p.back, p.fonts.small, left, y+p.px(16), atQuiet, "at most "+humanize.Size(p.most))
	y = r.Max.Y + p.px(16)
	drawText(p.back, p.fonts.small, r.Min.X, y, atQuiet, p.time(p.Curve.Begin))
	end := p.time(p.Curve.Begin + p.Curve.Span)
	drawText(p.back, p.fonts.small, r.Max.X-textWidth(p.fonts.small, end), y, atQuiet, end)
}

func (p *Film) time(ns int64) string {
	if ns == 0 {
		return "0"
	}
	return humanize.Duration(ns)
}

// column draws a column of the curve. Its step of time has at most so many bytes.
func (p *Film) column(to *image.Paletted, x int, place uint8) {
	steps := p.Curve.Most[min(1, len(p.Curve.Most)):] // the first one is the beginning of the range
	if len(steps) == 0 {
		return
	}
	n := steps[min(x*len(steps)/p.curve.Dx(), len(steps)-1)]
	height := int(math.Round(float64(n) / float64(p.most) * float64(p.curve.Dy())))
	if n > 0 {
		height = max(height, 1)
	}
	fillRect(to, image.Rect(p.curve.Min.X+x, p.curve.Max.Y-height, p.curve.Min.X+x+1, p.curve.Max.Y), place)
}

// drawLegend draws what the colours mean.
func (p *Film) drawLegend() {
	switch p.HeapFilm.Color {
	case query.ColorOccupancy:
		p.drawScale("nearly empty", "full", func(at float64) uint8 { return p.palette.cell(uint8(1+254*at), 0, 0) })
	case query.ColorAge:
		youngest := "younger than " + humanize.Duration(max(p.Last/int64(math.Pow10(query.AgeDecades)), 1))
		p.drawScale(youngest, humanize.Duration(p.Last)+" old",
			func(at float64) uint8 { return p.palette.cell(255, uint8(255*at), 0) })
	case query.ColorStack, query.ColorThread:
		p.drawGroups()
	}
}

// drawScale draws a scale of colours, and what an empty cell looks like.
func (p *Film) drawScale(low, high string, place func(at float64) uint8) {
	x, y := p.curve.Min.X, p.legend
	text := func(s string) {
		drawText(p.back, p.fonts.body, x, y, atQuiet, fitted(p.fonts.body, s, p.curve.Max.X-x))
		x += textWidth(p.fonts.body, s) + p.px(10)
	}
	text(low)
	width := min(p.px(220), p.curve.Dx()/4)
	for i := range width {
		bar := image.Rect(x+i, y-p.px(10), x+i+1, y+p.px(2))
		fillRect(p.back, bar, place(float64(i)/float64(width-1)))
	}
	x += width + p.px(10)
	text(high)
	x += p.px(24)
	if !p.knowsPages() {
		p.swatch(&x, y, atEmpty)
		text("empty, but once used")
		return
	}
	p.swatch(&x, y, atHeld)
	text(heldText)
	x += p.px(10)
	p.swatch(&x, y, atEmpty)
	text("empty, not in memory")
	x += p.px(10)
	p.hatchedSwatch(&x, y, place(1))
	text(lackingText)
}

// What atHeld and a hatched cell mean.
const (
	heldText    = "empty, but in memory"
	lackingText = "live, not in memory"
)

// hatchedSwatch draws a colour with lines over it.
func (p *Film) hatchedSwatch(x *int, y int, place uint8) {
	left, side := *x, p.px(12)
	p.swatch(x, y, place)
	hatch(p.back, image.Rect(left, y-p.px(10), left+side, y-p.px(10)+side))
}

// knowsPages reports whether it was recorded which pages are in memory.
func (p *Film) knowsPages() bool {
	return slices.ContainsFunc(p.Pictures, func(x query.HeapPicture) bool { return x.Resident != nil })
}

// swatch draws a colour, and moves x behind it.
func (p *Film) swatch(x *int, y int, place uint8) {
	side := p.px(12)
	fillRect(p.back, image.Rect(*x, y-p.px(10), *x+side, y-p.px(10)+side), place)
	*x += side + p.px(7)
}

// drawGroups draws the colours of groups or threads, in two lines.
func (p *Film) drawGroups() {
	var names []string
	for _, name := range p.Groups {
		if p.HeapFilm.Color == query.ColorStack {
			name = funcname.Short(name, 60)
		}
		names = append(names, escape.Terminal(name))
	}
	own := len(names)
	names = append(names, "others")
	if p.knowsPages() {
		names = append(names, heldText, lackingText)
	}
	perLine := max((len(names)+1)/2, 4)
	width := p.curve.Dx() / perLine
	for i, name := range names {
		x, y := p.curve.Min.X+i%perLine*width, p.legend+i/perLine*p.px(legendRow)
		switch {
		case i <= own:
			p.swatch(&x, y, p.palette.cell(255, uint8(i), max(own, 1)))
		case name == heldText:
			p.swatch(&x, y, atHeld)
		default:
			p.hatchedSwatch(&x, y, p.palette.cell(255, 0, max(own, 1)))
		}
		room := p.curve.Min.X + (i%perLine+1)*width - x - p.px(12)
		drawText(p.back, p.fonts.body, x, y, atQuiet, fitted(p.fonts.body, name, room))
	}
}

// Draw draws a picture.
func (p *Film) Draw(number int) *image.Paletted {
	x := &p.Pictures[number]
	to := image.NewPaletted(p.back.Rect, p.palette.colors)
	copy(to.Pix, p.back.Pix)
	right := p.width - p.px(margin)
	line := func(face font.Face, y int, ink uint8, text string) {
		text = fitted(face, text, p.width/2-p.px(margin+12))
		drawText(to, face, right-textWidth(face, text), y, ink, text)
	}
	when := "after " + p.time(x.Time)
	if x.AtPeak {
		when = "at the peak, " + when
	}
	line(p.fonts.title, p.px(margin+16), atText, humanize.Size(x.Live.Bytes)+" live")
	line(p.fonts.body, p.px(margin+37), atQuiet, when+", in "+humanize.Plural(x.Live.Blocks, "block"))
	for i := range p.Bands {
		b := &p.Bands[i]
		for k := range b.Cells {
			cx, cy := p.cells.Min.X+k%p.columns*p.pitch, p.tops[i]+k/p.columns*p.pitch
			if place := p.placeOf(x, b.First+k); place != atPage {
				fillRect(to, image.Rect(cx, cy, cx+p.edge, cy+p.edge), place)
			}
			if x.LacksMemory(b.First + k) {
				hatch(to, image.Rect(cx, cy, cx+p.edge, cy+p.edge))
			}
		}
	}
	p.drawCursor(to, x.Time)
	return to
}

// drawCursor draws the live bytes up to a moment, and a line there.
func (p *Film) drawCursor(to *image.Paletted, time int64) {
	r := p.curve
	share := float64(time-p.Curve.Begin) / float64(max(p.Curve.Span, 1))
	end := int(math.Round(max(min(share, 1), 0) * float64(r.Dx())))
	for x := range end {
		p.column(to, x, atPast)
	}
	end = min(max(end, 1), r.Dx())
	line := max(p.px(1.5), 1)
	fillRect(to, image.Rect(r.Min.X+end-line, r.Min.Y-p.px(4), r.Min.X+end, r.Max.Y+p.px(3)), atText+shades-1)
}

// Places says where the cells of all pictures are.
func (p *Film) Places() *answer.HeapPlaces {
	x := &answer.HeapPlaces{Width: p.width, Height: p.height, CellSize: p.edge, Pitch: p.pitch, Columns: p.columns,
		Bands: []answer.HeapPlace{}}
	for _, y := range p.tops {
		x.Bands = append(x.Bands, answer.HeapPlace{X: p.cells.Min.X, Y: y})
	}
	return x
}

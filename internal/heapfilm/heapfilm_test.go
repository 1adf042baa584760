package heapfilm

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"testing"

	"github.com/heaptap/heaptap/internal/query"
)

// film has cells that are full and empty, old and young, of some groups, and a gap.
func film(by query.HeapColor, groups ...string) *query.HeapFilm {
	f := &query.HeapFilm{HeapLayout: &query.HeapLayout{}, Color: by, Groups: groups, Last: 1e9}
	f.Bands = []query.HeapBand{
		{Kind: query.Arena, Cells: 300, CellPages: 1, Pages: 300,
			Runs:    []query.HeapRun{{From: 0x7f0000000, To: 0x7f000012c}},
			Threads: []query.ThreadShare{{Name: "w\x1b[31m", Share: 0.95}}},
		{Kind: query.Mappings, First: 300, Cells: 212, CellPages: 8, Pages: 1696,
			Runs: []query.HeapRun{{From: 0x7f1000000, To: 0x7f10006a0}}},
	}
	p := query.HeapPicture{Time: 5e8, Live: query.Amount{Bytes: 5e6, Blocks: 100}}
	for cell := range 512 {
		f.Capacity = append(f.Capacity, 4096)
		p.Fill = append(p.Fill, uint8(cell))
		p.Age = append(p.Age, uint8(cell/2))
		p.Tint = append(p.Tint, uint8(cell%(len(groups)+1)))
	}
	f.Capacity[310] = 0
	last := p
	last.Time, last.Fill = 1e9, make([]uint8, 512)
	if by < query.ColorStack {
		p.Tint, last.Tint = nil, nil
	}
	f.Pictures = []query.HeapPicture{p, last}
	return f
}

func curve() *query.ProcessTimeline {
	c := &query.ProcessTimeline{Most: []uint64{0, 1e6, 5e6, 2e6, 0}}
	c.Span = 1e9
	return c
}

func at(picture image.Image, r image.Rectangle) color.RGBA {
	return color.RGBAModel.Convert(picture.At((r.Min.X+r.Max.X)/2, (r.Min.Y+r.Max.Y)/2)).(color.RGBA)
}

// TestColours: of all colours and themes, cells that differ in what is drawn differ, others do not, and cells and text
// do not overlap: a cell has one colour.
func TestColours(t *testing.T) {
	t.Parallel()
	for theme := range themes {
		for by := query.ColorOccupancy; by <= query.ColorThread; by++ {
			t.Run(fmt.Sprint(themeNames[theme], " ", by), func(t *testing.T) {
				f := film(by, "parse", "read", "a very long name, with <templates> and blanks")
				look := Look{Width: 900, Height: 500, Theme: Theme(theme), Title: "program"}
				p, err := New(f, curve(), look)
				if err != nil {
					t.Fatal(err)
				}
				picture := p.Draw(0)
				seen := make(map[color.RGBA]bool)
				for cell := range 512 {
					r := p.CellAt(cell)
					first := at(picture, r)
					for y := r.Min.Y; y < r.Max.Y; y++ {
						for x := r.Min.X; x < r.Max.X; x++ {
							if c := color.RGBAModel.Convert(picture.At(x, y)); c != first {
								t.Fatalf("cell %d is %v at %d, %d, and %v in its middle", cell, c, x, y, first)
							}
						}
					}
					seen[first] = true
				}
				cell := func(n int) color.RGBA { return at(picture, p.CellAt(n)) }
				colors := &themes[theme]
				if cell(256) != colors.empty || cell(0) != colors.empty || cell(310) != colors.page {
					t.Errorf("an empty cell is %v, a gap %v", cell(256), cell(310))
				}
				if cell(255) != cell(511) && by == query.ColorOccupancy || cell(255) == cell(20) {
					t.Errorf("full: %v and %v, nearly empty: %v", cell(255), cell(511), cell(20))
				}
				switch by {
				case query.ColorOccupancy:
					if cell(255) != colors.fill[4] || cell(1) != colors.fill[0] {
						t.Errorf("full is %v, nearly empty %v", cell(255), cell(1))
					}
				case query.ColorAge:
					if cell(511) != colors.age[4] || len(seen) < 30 {
						t.Errorf("the oldest is %v; %d colours", cell(511), len(seen))
					}
				default:
					// 252 and 253 are nearly full, of the first and the second group; 255 is of the others.
					if cell(252) == cell(253) || cell(255) != colors.groups[7] {
						t.Errorf("groups are %v, %v and, of others, %v", cell(252), cell(253), cell(255))
					}
				}
				if got := at(p.Draw(1), p.CellAt(255)); got != colors.empty {
					t.Errorf("later, it is %v", got)
				}
				// Where it is known what is in memory, this matters for cells without blocks.
				f.Pictures[0].Resident, f.Pictures[1].Resident = make([]uint8, 512), make([]uint8, 512)
				for _, cell := range []int{20, 255, 256, 310} {
					f.Pictures[0].Resident[cell], f.Pictures[1].Resident[cell] = 1, 255
				}
				if p, err = New(f, curve(), look); err != nil {
					t.Fatal(err)
				}
				for i, want := range []map[int]color.RGBA{
					{256: colors.held, 0: colors.empty, 255: cell(255), 20: cell(20), 310: colors.page},
					{256: colors.held, 255: colors.held, 0: colors.empty, 310: colors.page},
				} {
					picture := p.Draw(i)
					for n, c := range want {
						if got := at(picture, p.CellAt(n)); got != c {
							t.Errorf("picture %d, cell %d is %v, expected %v", i, n, got, c)
						}
					}
				}
				// Lines cross a cell with live bytes that are not in memory, and no other one.
				f.Pictures[0].Absent = make([]uint8, 512)
				f.Pictures[0].Absent[256], f.Pictures[0].Absent[255], f.Pictures[0].Absent[20] = 255, 255, 200
				before := picture
				picture = p.Draw(0)
				for n, lacking := range map[int]bool{255: true, 256: false, 20: false, 254: false} {
					counts := make(map[color.RGBA]int)
					r := p.CellAt(n)
					for y := r.Min.Y; y < r.Max.Y; y++ {
						for x := r.Min.X; x < r.Max.X; x++ {
							counts[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
						}
					}
					if lines := counts[colors.empty]; (len(counts) == 2) != lacking || lacking &&
						(counts[at(before, p.CellAt(n))] <= lines || lines == 0) {
						t.Errorf("cell %d has the colours %v", n, counts)
					}
				}
			})
		}
	}
}

// TestSizes draws pictures of all sizes, and what has no cells.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{MinWidth, MinHeight}, {MinWidth, 2000}, {3000, MinHeight}, {1200, 720}} {
		look := Look{Width: size[0], Height: size[1], Title: "\x1b]0;x\a" + fmt.Sprintf("%200d", 1)}
		for by := query.ColorOccupancy; by <= query.ColorThread; by++ {
			if Room(&look, by) < 512 {
				t.Errorf("%v: room for %d cells", size, Room(&look, by))
			}
			for _, f := range []*query.HeapFilm{film(by), film(by, "a", "b", "c", "d", "e", "f", "g"),
				{HeapLayout: &query.HeapLayout{}, Color: by, Pictures: make([]query.HeapPicture, 1)}} {
				p, err := New(f, curve(), look)
				if err != nil {
					t.Fatalf("%v: %v", size, err)
				}
				for cell := range f.Capacity {
					if r := p.CellAt(cell); r.Empty() || !r.In(p.cells) {
						t.Fatalf("%v: cell %d is at %v, outside of %v", size, cell, r, p.cells)
					}
				}
				var w bytes.Buffer
				if err := p.WritePNG(&w, 0); err != nil {
					t.Fatal(err)
				}
				picture, err := png.Decode(&w)
				if err != nil || picture.Bounds() != image.Rect(0, 0, size[0], size[1]) {
					t.Errorf("%v: %v, %v", size, picture.Bounds(), err)
				}
			}
		}
	}
}

// TestFilm decodes a film: it begins again when it ends, and its last picture stays for longer.
func TestFilm(t *testing.T) {
	t.Parallel()
	p, err := New(film(query.ColorAge), curve(), Look{Width: 640, Height: 400})
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	done := 0
	if err := p.WriteGIF(t.Context(), &w, func(n, total int) { done += n * 10 / total }); err != nil {
		t.Fatal(err)
	}
	g, err := gif.DecodeAll(&w)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != 2 || g.LoopCount != 0 || g.Delay[1] <= g.Delay[0] || g.Config.Width != 640 || done != 15 {
		t.Errorf("%d pictures, loop %d, delays %v, %d wide, progress %d", len(g.Image), g.LoopCount, g.Delay,
			g.Config.Width, done)
	}
}

// TestHatchSmall: lines leave most of a cell in its colour, of however few pixels it is.
func TestHatchSmall(t *testing.T) {
	t.Parallel()
	for edge := 1; edge <= 24; edge++ {
		p := image.NewPaletted(image.Rect(0, 0, edge, edge), color.Palette{color.White, color.Black})
		fillRect(p, p.Rect, atEmpty+1)
		hatch(p, p.Rect)
		if lines := bytes.Count(p.Pix, []byte{atEmpty}); 2*lines > edge*edge || lines == 0 && edge > 1 {
			t.Errorf("%d of %d pixels are of lines", lines, edge*edge)
		}
	}
}

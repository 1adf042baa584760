package heapfilm

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/heaptap/heaptap/internal/query"
)

// Theme is what colours there are.
type Theme uint8

// The themes.
const (
	Dark Theme = iota
	Light
)

var themeNames = []string{"dark", "light"}

// ParseTheme returns the theme of that name.
func ParseTheme(name string) (Theme, bool) {
	i := slices.Index(themeNames, name)
	return Theme(max(i, 0)), i >= 0
}

// Themes returns the names of all themes.
func Themes() []string { return slices.Clone(themeNames) }

// colours of a theme, those of the app.
type colours struct {
	page, text, quiet, line color.RGBA
	empty                   color.RGBA   // a page without blocks
	held                    color.RGBA   // one that is in memory nevertheless
	curve, past             color.RGBA   // live bytes later and until now
	fill, age               []color.RGBA // from the lowest to the highest value
	groups                  []color.RGBA // the last one is that of all others
}

var themes = [...]colours{
	Dark: {
		page: hex(0x0f141b), text: hex(0xeef2f6), quiet: hex(0x98a4b3), line: hex(0x3b4655), empty: hex(0x202833),
		held:  hex(0x6e3f4a),
		curve: hex(0x26384f), past: hex(0x5b9df0),
		fill: hexes(0xffe29a, 0xffb454, 0xf4716a, 0xa156c4, 0x4a63e7),
		age:  hexes(0xb6f5d0, 0x3cc8b4, 0x2f86c9, 0x5a4fb8, 0x8a3d7c),
		groups: hexes(0x5b9df0, 0xf0a04b, 0x5fc689, 0xc995f2, 0xf2806e, 0x49c0cc, 0xe0c341,
			0x7d8897),
	},
	Light: {
		page: hex(0xffffff), text: hex(0x1b1f24), quiet: hex(0x59626e), line: hex(0xc4cad2), empty: hex(0xe9ecf0),
		held:  hex(0xf2c4c4),
		curve: hex(0xd3e2f4), past: hex(0x2b6cb0),
		fill: hexes(0xffb000, 0xfb7a1e, 0xdc3d5f, 0x8a3fa8, 0x2445b5),
		age:  hexes(0x58c98f, 0x13a093, 0x1f6fb5, 0x5a3fa8, 0x7a1f5c),
		groups: hexes(0x2b6cb0, 0xd97a16, 0x2c8a52, 0x8a4ab0, 0xc43d26, 0x1a8a96, 0xa8850a,
			0x77818d),
	},
}

func hex(n uint32) color.RGBA { return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 255} }

func hexes(list ...uint32) (out []color.RGBA) {
	for _, n := range list {
		out = append(out, hex(n))
	}
	return out
}

// mix returns a colour between two: a at 0, b at 1.
func mix(a, b color.RGBA, at float64) color.RGBA {
	between := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + (float64(y)-float64(x))*at)) }
	return color.RGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 255}
}

// ramp returns the colour at a place of a scale, from 0 to 1.
func ramp(stops []color.RGBA, at float64) color.RGBA {
	at *= float64(len(stops) - 1)
	i := min(int(at), len(stops)-2)
	return mix(stops[i], stops[i+1], at-float64(i))
}

// Palette has the colours of all pictures of a film, at fixed places.
type Palette struct {
	colors color.Palette
	tinted bool
	levels int // of the scale, or groups
}

// Places in the palette. Shades of text are what its edges are drawn with.
const (
	atPage      = 0
	atLine      = 1
	atEmpty     = 2
	atCurve     = 3
	atPast      = 4
	atHeld      = 5
	atText      = 6
	shades      = 15
	atQuiet     = atText + shades
	atCells     = atQuiet + shades
	transparent = 255 // transparent

	fillLevels = 96 // of a scale without tints
	ageLevels  = 24
	shadeCount = 8 // of a tint: how full a cell is
)

// newPalette returns the palette of a theme for pictures in which cells have that colour.
func newPalette(theme Theme, by query.HeapColor) *Palette {
	t := &themes[theme]
	p := &Palette{tinted: by != query.ColorOccupancy}
	p.colors = append(p.colors, t.page, t.line, t.empty, t.curve, t.past, t.held)
	for _, ink := range []color.RGBA{t.text, t.quiet} {
		for i := range shades {
			p.colors = append(p.colors, mix(t.page, ink, float64(i+1)/shades))
		}
	}
	var tints []color.RGBA
	switch by {
	case query.ColorOccupancy:
		for i := range fillLevels {
			p.colors = append(p.colors, ramp(t.fill, float64(i)/(fillLevels-1)))
		}
		p.levels = fillLevels
	case query.ColorAge:
		for i := range ageLevels {
			tints = append(tints, ramp(t.age, float64(i)/(ageLevels-1)))
		}
	default:
		tints = t.groups
	}
	for _, c := range tints {
		for i := range shadeCount {
			p.colors = append(p.colors, mix(t.empty, c, 0.4+0.6*float64(i)/(shadeCount-1)))
		}
	}
	if p.tinted {
		p.levels = len(tints)
	}
	for len(p.colors) < transparent {
		p.colors = append(p.colors, t.page)
	}
	p.colors = append(p.colors, color.RGBA{})
	return p
}

// cell returns the place of the colour of a cell that is not empty. others is the tint of all groups that have none of
// their own; 0: tints are a scale.
func (p *Palette) cell(fill, tint uint8, others int) uint8 {
	if !p.tinted {
		return uint8(atCells + (int(fill)-1)*(p.levels-1)/254)
	}
	level := int(tint)
	switch {
	case others == 0:
		level = level * (p.levels - 1) / 255
	case level >= others:
		level = p.levels - 1
	}
	return uint8(atCells + level*shadeCount + (int(fill)-1)*(shadeCount-1)/254)
}

// Hex returns a colour of the palette as #rrggbb.
func (p *Palette) hex(place uint8) string {
	c := p.colors[place].(color.RGBA)
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

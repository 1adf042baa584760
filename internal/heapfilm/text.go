package heapfilm

import (
	"image"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// fonts are the sizes of text in a picture.
type fonts struct{ title, name, body, small font.Face }

// newFonts returns the fonts of a picture whose unit is so many pixels.
func newFonts(unit float64) (*fonts, error) {
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	medium, err := opentype.Parse(gomedium.TTF)
	if err != nil {
		return nil, err
	}
	f := &fonts{}
	for _, x := range []struct {
		face *font.Face
		of   *opentype.Font
		size float64
	}{{&f.title, medium, 20}, {&f.name, medium, 13}, {&f.body, regular, 13}, {&f.small, regular, 11.5}} {
		options := &opentype.FaceOptions{Size: x.size * unit, DPI: 72, Hinting: font.HintingFull}
		if *x.face, err = opentype.NewFace(x.of, options); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// textWidth returns how wide a text is, in pixels.
func textWidth(face font.Face, text string) int { return font.MeasureString(face, text).Ceil() }

// fitted returns a text with as much of its end replaced by an ellipsis as needed for it to be at most so wide.
func fitted(face font.Face, text string, width int) string {
	if textWidth(face, text) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && textWidth(face, string(runes)+"…") > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

// drawText draws text with its baseline at y, on pixels of the page's colour. ink is the place of its lightest shade in
// the palette.
func drawText(to *image.Paletted, face font.Face, x, y int, ink uint8, text string) {
	dot := fixed.P(x, y)
	for _, r := range text {
		box, mask, at, advance, ok := face.Glyph(dot, r)
		if !ok {
			continue
		}
		alpha, isAlpha := mask.(*image.Alpha)
		seen := box.Intersect(to.Rect)
		for py := seen.Min.Y; isAlpha && py < seen.Max.Y; py++ {
			for px := seen.Min.X; px < seen.Max.X; px++ {
				a := int(alpha.AlphaAt(at.X+px-box.Min.X, at.Y+py-box.Min.Y).A)
				if shade := (a*shades + 127) / 255; shade > 0 {
					to.SetColorIndex(px, py, ink+uint8(shade)-1)
				}
			}
		}
		dot.X += advance
	}
}

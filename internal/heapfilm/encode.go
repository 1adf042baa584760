package heapfilm

import (
	"bytes"
	"context"
	"image"
	"image/gif"
	"image/png"
	"io"
)

// WritePNG writes a picture.
func (p *Film) WritePNG(w io.Writer, number int) error {
	e := png.Encoder{CompressionLevel: png.BestCompression}
	return e.Encode(w, p.Draw(number))
}

const (
	filmTime  = 1000 // of a film, in hundredths of a second
	shortest  = 3    // time of a picture: 33 a second
	longest   = 25
	lastTime  = 150 // for the last picture, before the film begins again
	gifHeader = 13  // bytes before the table of colours
	gifColors = 3 * 256
)

// loop makes a GIF begin again when it ends.
const loop = "\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"

// WriteGIF writes all pictures as a film. Each is encoded as a GIF of its own, without what has not changed, and then
// joined to the others, so that no more than two pictures are in memory. progress is called after each.
func (p *Film) WriteGIF(ctx context.Context, w io.Writer, progress func(done, total int)) error {
	n := len(p.Pictures)
	delay := min(max(filmTime/n, shortest), longest)
	config := image.Config{ColorModel: p.palette.colors, Width: p.width, Height: p.height}
	var before *image.Paletted
	var one bytes.Buffer
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := p.Draw(i)
		if i == n-1 {
			delay = lastTime
		}
		one.Reset()
		err := gif.EncodeAll(&one, &gif.GIF{Image: []*image.Paletted{changes(before, now)}, Delay: []int{delay},
			Disposal: []byte{gif.DisposalNone}, Config: config})
		if err != nil {
			return err
		}
		head, body := one.Bytes()[:gifHeader+gifColors], one.Bytes()[gifHeader+gifColors:one.Len()-1]
		if i == 0 {
			body = append(append(append([]byte{}, head...), loop...), body...)
		}
		if _, err := w.Write(body); err != nil {
			return err
		}
		before = now
		progress(i+1, n)
	}
	_, err := w.Write([]byte{0x3b})
	return err
}

// changes returns the smallest part of a picture that differs from the one before, if there is one. What has not
// changed there is transparent.
func changes(before, now *image.Paletted) *image.Paletted {
	if before == nil {
		return now
	}
	box := image.Rectangle{}
	for y := now.Rect.Min.Y; y < now.Rect.Max.Y; y++ {
		a, b := row(before, y), row(now, y)
		if bytes.Equal(a, b) {
			continue
		}
		from, to := 0, len(a)
		for a[from] == b[from] {
			from++
		}
		for a[to-1] == b[to-1] {
			to--
		}
		box = box.Union(image.Rect(from, y, to, y+1))
	}
	if box.Empty() {
		box = image.Rect(0, 0, 1, 1)
	}
	part := image.NewPaletted(box, now.Palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		a, b, to := row(before, y), row(now, y), row(part, y)
		for x := range to {
			to[x] = b[box.Min.X+x]
			if a[box.Min.X+x] == to[x] {
				to[x] = transparent
			}
		}
	}
	return part
}

// row returns the pixels of a row of a picture.
func row(p *image.Paletted, y int) []uint8 {
	return p.Pix[(y-p.Rect.Min.Y)*p.Stride:][:p.Rect.Dx()]
}

package browser

import (
	"bytes"
	"encoding/json"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

var update = flag.Bool("update", false, "take the pictures of docs/ui anew")

const (
	mostBytes = 100_000 // of a picture
	// Times, and so the curves of the timeline, differ with each run. So does what the resident set consists of, and
	// with it where the lines of the overview are.
	mostDifferent, mostOfOverview = 0.1, 0.35 // of a picture
)

// TestPictures: the pages look as in docs/ui. How letters are drawn depends on the machine: it compares only in CI,
// where the fonts are known, and blocks of pixels, so that it notices what has moved, is missing or has other colours.
func TestPictures(t *testing.T) {
	if !*update && os.Getenv("CI") == "" {
		t.Skip("pictures are compared in CI; go test ./tests/browser -run TestPictures -update takes them anew")
	}
	need.File(t, "../../ui/node_modules/playwright-core/package.json")
	need.File(t, "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf")
	node, chromium := need.Tool(t, "node"), need.Tool(t, "chromium")
	dir := t.TempDir()
	program := filepath.Join(dir, "bookshop")
	kit.Run(t, "cp", "../../tools/demo/bookshop.amd64", program)
	inside := kit.Command{Dir: dir}
	inside.Run(t, kit.Binary(t), "run", "-q", "-o", "bookshop.htap", program)
	sources, err := filepath.Abs("../../tools/demo")
	if err != nil {
		t.Fatal(err)
	}
	server := startServer(t, dir, "--source-path", sources, "bookshop.htap")
	options, err := json.Marshal(map[string]string{"chromium": chromium, "folder": dir,
		"recording": server.recordings(t)["bookshop.htap"], "app": server.invitation(t)})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(node, "pictures.mjs", string(options)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	taken, err := filepath.Glob(filepath.Join(dir, "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	kit.Same(t, "pictures", len(taken), 24)
	for _, path := range taken {
		kept := filepath.Join("../../docs/ui", filepath.Base(path))
		now := fewColours(decode(t, path))
		if *update {
			write(t, kept, now)
			continue
		}
		before := decode(t, kept)
		if now.Bounds() != before.Bounds() {
			t.Errorf("%s: %v, and now %v", kept, before.Bounds(), now.Bounds())
			continue
		}
		most := mostDifferent
		if strings.HasPrefix(filepath.Base(path), "overview") {
			most = mostOfOverview
		}
		if share := different(before, now); share > most {
			t.Errorf("%s: %.1f %% of it looks different; if that is meant: make pictures", kept, 100*share)
		}
	}
}

func decode(t *testing.T, path string) image.Image {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return picture
}

// fewColours has the 128 colours of a picture that are most frequent. What is left out is in the edges of letters.
func fewColours(picture image.Image) *image.Paletted {
	counts := map[color.RGBA]int{}
	bounds := picture.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	number := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return number(a) - number(b)
	})
	var palette color.Palette
	for _, c := range all[:min(128, len(all))] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(bounds, palette)
	indices := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, ok := indices[c]
			if !ok {
				i = uint8(palette.Index(c))
				indices[c] = i
			}
			few.SetColorIndex(x, y, i)
		}
	}
	return few
}

func write(t *testing.T, path string, picture image.Image) {
	t.Helper()
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	if b.Len() > mostBytes {
		t.Errorf("%s has %d bytes, at most %d", path, b.Len(), mostBytes)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// different gives the share of the blocks of a picture whose mean colour differs visibly from that of another one.
func different(a, b image.Image) float64 {
	const block, visible = 16, 14 // pixels, and of 255
	bounds := a.Bounds()
	blocks, differ := 0, 0
	for y := bounds.Min.Y; y < bounds.Max.Y; y += block {
		for x := bounds.Min.X; x < bounds.Max.X; x += block {
			r := image.Rect(x, y, x+block, y+block).Intersect(bounds)
			p, q := mean(a, r), mean(b, r)
			blocks++
			for i := range p {
				if d := p[i] - q[i]; d > visible || d < -visible {
					differ++
					break
				}
			}
		}
	}
	return float64(differ) / float64(blocks)
}

// mean is the mean colour of a part of a picture.
func mean(picture image.Image, r image.Rectangle) (sum [3]float64) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			red, green, blue, _ := picture.At(x, y).RGBA()
			for i, v := range []uint32{red, green, blue} {
				sum[i] += float64(v>>8) / float64(r.Dx()*r.Dy())
			}
		}
	}
	return sum
}

// TestDifferent: a picture is as itself, and a missing panel, another theme, and what has moved are noticed.
func TestDifferent(t *testing.T) {
	t.Parallel()
	draw := func(shift int, ink uint8) *image.Gray {
		picture := image.NewGray(image.Rect(0, 0, 320, 240))
		for y := range 240 {
			for x := range 320 {
				picture.SetGray(x, y, color.Gray{Y: 240})
				if y/20%2 == 0 && (x+shift)/40%2 == 0 {
					picture.SetGray(x, y, color.Gray{Y: ink})
				}
			}
		}
		return picture
	}
	kit.Same(t, "itself", different(draw(0, 30), draw(0, 30)), 0)
	kit.Same(t, "hardly another colour", different(draw(0, 30), draw(0, 36)), 0)
	others := map[string]image.Image{"moved": draw(20, 30), "gone": draw(0, 240), "colour": draw(0, 90)}
	for what, other := range others {
		if share := different(draw(0, 30), other); share < 0.2 {
			t.Errorf("%s: %.3f", what, share)
		}
	}
}

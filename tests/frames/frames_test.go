// Package frames judges the pictures of heaptap frames from outside: each cell of a PNG is compared with the blocks
// that the recording's events say are live at that moment.
package frames

import (
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

func TestMain(m *testing.M) { kit.Main(m) }

// places is what this test reads of heaptap frames --json.
type places struct {
	Cells int `json:"cells"`
	Bands []struct {
		Kind      string `json:"kind"`
		FirstCell int    `json:"first_cell"`
		Cells     int    `json:"cells"`
		CellPages uint64 `json:"cell_pages"`
		Runs      []struct {
			Address string `json:"address"`
			Pages   uint64 `json:"pages"`
			Cell    int    `json:"cell"`
			Page    uint64 `json:"page"`
		} `json:"runs"`
	} `json:"bands"`
	Moments []struct {
		TimeNS int64  `json:"time_ns"`
		Events uint64 `json:"events"`
		Live   struct {
			Count uint64 `json:"count"`
			Bytes uint64 `json:"bytes"`
		} `json:"live"`
	} `json:"moments"`
	Picture struct {
		CellSize int `json:"cell_size"`
		Pitch    int `json:"pitch"`
		Columns  int `json:"columns"`
		Bands    []struct {
			X int `json:"x"`
			Y int `json:"y"`
		} `json:"bands"`
	} `json:"picture"`
}

const pageSize = 4096

// The colours of the dark theme: of an empty page, and of pages from nearly empty to full.
var (
	empty = color.RGBA{0x20, 0x28, 0x33, 255}
	fill  = []color.RGBA{{0xff, 0xe2, 0x9a, 255}, {0xff, 0xb4, 0x54, 255}, {0xf4, 0x71, 0x6a, 255},
		{0xa1, 0x56, 0xc4, 255}, {0x4a, 0x63, 0xe7, 255}}
)

// colorOf is the colour of a cell of which a share is full.
func colorOf(share float64) color.RGBA {
	if share == 0 {
		return empty
	}
	at := share * float64(len(fill)-1)
	i := min(int(at), len(fill)-2)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (float64(b)-float64(a))*(at-float64(i)))) }
	a, b := fill[i], fill[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// far says whether two colours differ by more than the steps of a scale do.
func far(a, b color.RGBA) bool {
	differ := func(x, y uint8) bool { return max(x, y)-min(x, y) > 6 }
	return differ(a.R, b.R) || differ(a.G, b.G) || differ(a.B, b.B)
}

// liveAt returns the blocks that are live after so many events, and the time of the last one.
func liveAt(t *testing.T, r *recording.Reader, events uint64) (live map[uint64]event.Event, last int64) {
	t.Helper()
	live = make(map[uint64]event.Event)
	var n, allocs uint64
	if err := r.Events(func(e *event.Event) bool {
		if n == events {
			return false
		}
		n++
		last = e.Time
		switch e.Kind {
		case event.Alloc:
			live[allocs] = *e
			allocs++
		case event.Free:
			delete(live, e.Ref)
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return live, last
}

// check compares each cell of a picture with live blocks, and returns how many different colours it has seen.
func check(t *testing.T, picture image.Image, at *places, live map[uint64]event.Event) int {
	t.Helper()
	pages := make(map[uint64]uint64) // live bytes of each
	for _, e := range live {
		for from, end := e.Addr, e.Addr+max(e.Size, 1); from < end; {
			to := min((from/pageSize+1)*pageSize, end)
			pages[from/pageSize] += to - from
			from = to
		}
	}
	bytes, capacity := make([]uint64, at.Cells), make([]uint64, at.Cells)
	for _, b := range at.Bands {
		for _, r := range b.Runs {
			first, err := strconv.ParseUint(r.Address, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Pages {
				cell := r.Cell + int((r.Page+i)/b.CellPages)
				capacity[cell] += pageSize
				bytes[cell] += pages[first/pageSize+i]
				delete(pages, first/pageSize+i)
			}
		}
	}
	if len(pages) > 0 {
		t.Errorf("%d pages with live blocks have no cell", len(pages))
	}
	seen := make(map[color.RGBA]bool)
	wrong := 0
	for i, b := range at.Bands {
		for k := range b.Cells {
			if capacity[b.FirstCell+k] == 0 {
				continue
			}
			p := &at.Picture
			x := p.Bands[i].X + k%p.Columns*p.Pitch + p.CellSize/2
			y := p.Bands[i].Y + k/p.Columns*p.Pitch + p.CellSize/2
			got := color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
			share := float64(bytes[b.FirstCell+k]) / float64(capacity[b.FirstCell+k])
			if want := colorOf(share); far(got, want) && wrong < 10 {
				t.Errorf("pixel %d, %d (cell %d, %.3f full) is %v, want %v", x, y, b.FirstCell+k, share, got, want)
				wrong++
			}
			seen[got] = true
		}
	}
	return len(seen)
}

// programs are recorded, each with a reason.
var programs = []struct {
	name string
	args func(t *testing.T) []string
}{
	{"a database in memory", func(t *testing.T) []string {
		return []string{need.Tool(t, "sqlite3"), ":memory:", "create table t(a, b); with recursive c(x) as (select 1 " +
			"union all select x + 1 from c where x < 20000) insert into t select x, hex(randomblob(x % 200)) from c; " +
			"delete from t where a % 3 = 0; create index i on t(b); select count(*) from t"}
	}},
	{"an interpreter", func(t *testing.T) []string {
		return []string{need.Tool(t, "python3"), "-c", "import json\n" +
			"d = [json.loads('{\"a\": [%d, \"x\"], \"b\": {\"c\": %d}}' % (i, i)) for i in range(20000)]\n" +
			"e = d[::7]\ndel d\nf = [bytes(i) for i in range(3000)]"}
	}},
	{"another interpreter", func(t *testing.T) []string {
		return []string{need.Tool(t, "perl"), "-e", "my %h = map { $_ => 'x' x ($_ % 500) } 1 .. 20000; " +
			"delete $h{$_ * 2} for 1 .. 9000; print scalar(keys %h)"}
	}},
	{"threads with arenas", func(t *testing.T) []string {
		return []string{kit.Compile(t, "cc", "-O1", "-pthread", source(t, arenas))}
	}},
	{"large blocks", func(t *testing.T) []string {
		return []string{kit.Compile(t, "cc", "-O1", source(t, mappings))}
	}},
}

// source writes a program.
func source(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.c")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const arenas = `
#include <pthread.h>
#include <stdlib.h>

static void *work(void *seed) {
	static __thread void *kept[20000];
	unsigned x = (unsigned)(size_t)seed;
	for (int i = 0; i < 60000; i++) {
		x = x * 1664525 + 1013904223;
		void **slot = &kept[(x >> 8) % 20000];
		free(*slot);
		*slot = malloc(16 + (x >> 20) % 300);
	}
	for (int i = 0; i < 20000; i++)
		if (i % 8 != 0)
			free(kept[i]);
	return NULL;
}

int main(void) {
	pthread_t threads[4];
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
`

const mappings = `
#include <stdlib.h>

int main(void) {
	void *large[40], *small[4000];
	for (int i = 0; i < 40; i++)
		large[i] = malloc((size_t)(i + 1) << 20);
	for (int i = 0; i < 4000; i++)
		small[i] = malloc(100 + i % 50);
	for (int i = 0; i < 40; i += 3)
		free(large[i]);
	for (int i = 0; i < 4000; i++)
		if (i % 30 > 1)
			free(small[i]);
}
`

// TestPictures compares pictures of five programs, at three moments each, with the blocks that are live then; and the
// pictures of a film, as a folder and as a GIF, with each other.
func TestPictures(t *testing.T) {
	t.Parallel()
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "a.htap")
			_, r := kit.Command{}.RecordTo(t, path, []string{"--addresses"}, p.args(t)...)
			colors := 0
			for _, at := range []string{"30%", "peak", "end"} {
				file := filepath.Join(dir, "a.png")
				shown := kit.JSON[places](t, "frames", "--json", "--at", at, "-o", file, path)[0]
				m := &shown.Moments[0]
				live, last := liveAt(t, r, m.Events)
				if len(live) != int(m.Live.Count) || last != m.TimeNS {
					t.Errorf("at %s: %d blocks at %d, want %d at %d", at, m.Live.Count, m.TimeNS, len(live), last)
				}
				colors += check(t, decode(t, file), &shown, live)
			}
			if colors < 9 {
				t.Errorf("the pictures have only %d colours", colors)
			}
			checkFilm(t, path, r)
		})
	}
}

func decode(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// checkFilm compares the pictures of a film with live blocks, and a GIF with them.
func checkFilm(t *testing.T, path string, r *recording.Reader) {
	t.Helper()
	const n = 7
	dir := t.TempDir()
	size := []string{"--frames", strconv.Itoa(n), "--size", "900x500"}
	shown := kit.JSON[places](t, append([]string{"frames", "--json", "-o", dir + "/", path}, size...)...)[0]
	kit.Heaptap(t, append([]string{"frames", "-o", dir + "/a.gif", path}, size...)...)
	f, err := os.Open(dir + "/a.gif")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	film, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(film.Image) != n || len(shown.Moments) != n {
		t.Fatalf("the film has %d pictures, JSON %d moments, want %d", len(film.Image), len(shown.Moments), n)
	}
	screen := image.NewRGBA(image.Rect(0, 0, 900, 500))
	for i := range n {
		picture := decode(t, filepath.Join(dir, fmt.Sprintf("%04d.png", i+1)))
		live, _ := liveAt(t, r, shown.Moments[i].Events)
		check(t, picture, &shown, live)
		part := film.Image[i]
		for y := part.Rect.Min.Y; y < part.Rect.Max.Y; y++ {
			for x := part.Rect.Min.X; x < part.Rect.Max.X; x++ {
				if c := color.RGBAModel.Convert(part.At(x, y)).(color.RGBA); c.A == 255 {
					screen.SetRGBA(x, y, c)
				}
			}
		}
		for y := range 500 {
			for x := range 900 {
				if want := color.RGBAModel.Convert(picture.At(x, y)); screen.At(x, y) != want {
					t.Fatalf("picture %d: pixel %d, %d of the film is %v, want %v", i+1, x, y, screen.At(x, y), want)
				}
			}
		}
	}
}

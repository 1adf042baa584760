package atlas

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

func newCache(t testing.TB) (*Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "heaptap", "atlases")
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, dir
}

// load returns a recording's atlas, and whether it was built.
func load(t *testing.T, c *Cache, r *recording.Reader, o Options) (a *Atlas, built bool) {
	t.Helper()
	o.Progress = func(uint64, uint64) { built = true }
	a, err := c.Load(t.Context(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return a, built
}

// TestCache: an atlas is built once for a recording and its options, and is the same when it is loaded.
func TestCache(t *testing.T) {
	t.Parallel()
	c, _ := newCache(t)
	var readers []*recording.Reader
	for seed := range uint64(3) {
		p := newProgram(t, seed, recording.Options{})
		p.run(500)
		readers = append(readers, p.finish())
	}
	for i, r := range readers {
		first, built := load(t, c, r, Options{})
		if !built {
			t.Errorf("the atlas of recording %d was not built", i)
		}
		again, built := load(t, c, r, Options{})
		if built || !reflect.DeepEqual(first, again) {
			t.Errorf("the atlas of recording %d was not kept as it was", i)
		}
		if fewer, built := load(t, c, r, Options{Steps: 10}); !built || len(fewer.Ends()) != 11 {
			t.Errorf("the atlas of 10 steps has %d", len(fewer.Ends())-1)
		}
	}
	if u, err := c.Usage(); err != nil || u.Files != 6 {
		t.Errorf("%+v, %v", u, err)
	}
	if err := c.Prune(0); err != nil {
		t.Fatal(err)
	}
	if _, built := load(t, c, readers[0], Options{}); !built {
		t.Error("a removed atlas was found")
	}
	if _, built := load(t, nil, readers[0], Options{}); !built {
		t.Error("without a cache, an atlas was found")
	}
}

// TestMemory: an atlas takes the memory that it says, and nothing of its file stays.
func TestMemory(t *testing.T) {
	c, _ := newCache(t)
	p := newProgram(t, 2, recording.Options{})
	p.seldom = true
	p.run(100_000)
	r := p.finish()
	*p = program{}
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	load(t, c, r, Options{Steps: 500}) // what is made once is there
	for range 2 {
		before := live()
		a, built := load(t, c, r, Options{})
		if kept := live() - before; kept > a.Size()*9/8 {
			t.Errorf("built %v: it takes %d bytes, and says %d", built, kept, a.Size())
		}
		runtime.KeepAlive(a)
	}
}

// TestDamagedFile: a damaged file is not used, and is replaced.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	c, dir := newCache(t)
	p := newProgram(t, 1, recording.Options{})
	p.run(300)
	r := p.finish()
	want, _ := load(t, c, r, Options{})
	list, err := filepath.Glob(filepath.Join(dir, "*.atlas"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	whole, err := os.ReadFile(list[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += 1 + len(whole)/30 {
		changed := slices.Clone(whole)
		changed[i] ^= 4
		for _, b := range [][]byte{changed, whole[:i]} {
			if err := os.WriteFile(list[0], b, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, built := load(t, c, r, Options{}); !built || !reflect.DeepEqual(got, want) {
				t.Fatalf("byte %d: built %v", i, built)
			}
			if now, err := os.ReadFile(list[0]); err != nil || !bytes.Equal(now, whole) {
				t.Fatalf("byte %d: the file was not replaced: %v", i, err)
			}
		}
	}
}

// TestLiveIsNotKept: the atlas of a recording under way is soon out of date.
func TestLiveIsNotKept(t *testing.T) {
	t.Parallel()
	c, _ := newCache(t)
	p := newProgram(t, 1, recording.Options{})
	p.run(300)
	p.flush()
	r := p.open()
	if !r.Live() {
		t.Skip("this file system does not say which files are being written")
	}
	load(t, c, r, Options{})
	if u, err := c.Usage(); err != nil || u.Files != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// TestLevelsAreKept: levels of a long recording are read once, and kept in a file that is not taken for an atlas.
func TestLevelsAreKept(t *testing.T) {
	t.Parallel()
	c, _ := newCache(t)
	p := newProgram(t, 1, recording.Options{})
	for range worthKeeping {
		p.run(20)
		p.flush()
	}
	r := p.finish()
	prepare := func(ctx context.Context, c *Cache) (read int) {
		var line timetravel.Timeline
		err := c.PrepareTimeline(ctx, r, &line, func(done, total int) { read = total })
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		return read
	}
	files := func(want int64) {
		t.Helper()
		u, err := c.levels.Usage()
		if err != nil || int64(u.Files) != want {
			t.Errorf("%+v, want %d files: %v", u, want, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	prepare(ended, c)
	files(0)
	if n := prepare(t.Context(), c); n < worthKeeping {
		t.Errorf("%d blocks were read", n)
	}
	files(1)
	if n := prepare(t.Context(), c); n != 0 {
		t.Errorf("%d blocks were read again", n)
	}
	if n := prepare(t.Context(), nil); n < worthKeeping {
		t.Errorf("without a cache, %d blocks were read", n)
	}
	load(t, c, r, Options{})
	if u, err := c.Usage(); err != nil || u.Files != 1 {
		t.Errorf("%+v, want one atlas: %v", u, err)
	}
	if err := c.Prune(0); err != nil {
		t.Fatal(err)
	}
	files(0)
}

// FuzzUnpack: whatever the contents of a file are, they are refused, or make an atlas that can be asked anything.
func FuzzUnpack(f *testing.F) {
	p := newProgram(f, 1, recording.Options{})
	p.run(100)
	r := p.finish()
	raw, err := pack(f.Context(), r, Options{Steps: 8})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := unpack(raw, r.Nodes(), DefaultBytes)
		if err != nil {
			return
		}
		last := len(a.Moments()) - 1
		a.Changes(0, last)
		a.Changes(last/2, last)
		a.LiveAt(last / 2)
		a.Peak(0, last)
		a.Around(a.Moments()[last].Cut / 2)
		a.Nearest(a.Moments()[last].Time / 2)
		sums := make([]Sums, last+1)
		for _, n := range a.Tree() {
			a.Add(sums, []Ranks{n.Ranks})
		}
		if len(a.Stacks()) != len(a.small.rank)+len(a.medium.rank)+len(a.large.rank) {
			t.Errorf("%d stacks", len(a.Stacks()))
		}
	})
}

// FuzzDecode: a file is refused, or has the contents that were encoded.
func FuzzDecode(f *testing.F) {
	id := bytes.Repeat([]byte{7}, 32)
	f.Add(encode(atlasMagic, id, []byte("contents")))
	f.Add(encode(atlasMagic, id, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if raw, err := decode(b, atlasMagic, id); err == nil {
			again, err := decode(encode(atlasMagic, id, raw), atlasMagic, id)
			if err != nil || !bytes.Equal(again, raw) {
				t.Errorf("%q, %v", again, err)
			}
		}
	})
}

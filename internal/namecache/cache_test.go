package namecache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
)

var key = Key{BuildID: "00c0ffee", Source: 7}

func newCache(t testing.TB) (*Cache, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "heaptap", "names")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, dir
}

// some returns the addresses from, from+step ... and frames that tell them apart.
func some(from, step uint64, n int) (addrs []uint64, frames [][]event.Frame) {
	for i := range n {
		a := from + step*uint64(i)
		addrs = append(addrs, a)
		var list []event.Frame
		for k := range i % 4 { // some addresses are known to have no name
			list = append(list, event.Frame{Function: fmt.Sprintf("f%d", a), File: "a.c", Line: uint32(a),
				Inlined: k < i%4-1})
		}
		if len(list) > 0 {
			list[len(list)-1].Linkage = fmt.Sprintf("_Zf%d", a)
		}
		frames = append(frames, list)
	}
	return addrs, frames
}

func add(t testing.TB, c *Cache, addrs []uint64, frames [][]event.Frame) {
	t.Helper()
	if err := c.Add(key, addrs, frames); err != nil {
		t.Fatal(err)
	}
}

// expect checks that exactly these addresses are known, with these frames.
func expect(t *testing.T, c *Cache, addrs []uint64, frames [][]event.Frame) {
	t.Helper()
	got, known := c.Find(key, addrs)
	for i := range addrs {
		if !known[i] {
			t.Fatalf("%#x is unknown", addrs[i])
		}
		if d := cmp.Diff(frames[i], got[i]); d != "" {
			t.Fatalf("%#x (-want +got):\n%s", addrs[i], d)
		}
	}
}

func count(known []bool) (n int) {
	for _, k := range known {
		if k {
			n++
		}
	}
	return n
}

// What was added by one process is found by the next one, in whatever batches it came.
func TestFindsWhatWasAdded(t *testing.T) {
	c, dir := newCache(t)
	a1, f1 := some(0x1000, 8, 500)
	a2, f2 := some(0x1004, 8, 500)
	add(t, c, a1, f1)
	add(t, c, a2, f2)
	next, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	expect(t, next, a1, f1)
	expect(t, next, a2, f2)
	if _, known := next.Find(key, []uint64{0, 0x1001, 1 << 60}); count(known) > 0 {
		t.Errorf("addresses that nobody added are known: %v", known)
	}
	if _, known := next.Find(Key{key.BuildID, key.Source + 1}, a1); count(known) > 0 {
		t.Error("names of other files are taken for these")
	}
	if u, err := next.Usage(); err != nil || u.Builds != 1 || u.Bytes < 1000 {
		t.Errorf("usage %+v, %v", u, err)
	}
}

// Whatever byte of a file is wrong, no name is, and what is whole is found; after the next addition everything is.
func TestDamage(t *testing.T) {
	c, dir := newCache(t)
	a1, f1 := some(0x1000, 8, 6)
	a2, f2 := some(0x2000, 8, 6)
	add(t, c, a1, f1)
	add(t, c, a2, f2)
	path := filepath.Join(dir, key.file())
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	addrs, frames := append(a1[:6:6], a2...), append(f1[:6:6], f2...)
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, known := c.Find(key, addrs)
		for i := range addrs {
			if known[i] && !cmp.Equal(got[i], frames[i]) {
				t.Fatalf("%s: %#x has other names", what, addrs[i])
			}
		}
		add(t, c, a1, f1)
		add(t, c, a2, f2)
		expect(t, c, addrs, frames)
	}
	for i := range whole {
		b := append([]byte(nil), whole...)
		b[i] ^= 0x5a
		check(fmt.Sprintf("byte %d", i), b)
	}
	for n := range whole {
		check(fmt.Sprintf("cut after %d bytes", n), whole[:n])
	}
}

// Many processes at once: each has its own descriptors, as these caches have.
func TestConcurrent(t *testing.T) {
	_, dir := newCache(t)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			c, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for round := range 15 {
				addrs, frames := some(uint64(0x1000*(1+(w+round)%10)), 8, 30)
				got, known := c.Find(key, addrs)
				for i := range addrs {
					if known[i] && !cmp.Equal(got[i], frames[i]) {
						t.Errorf("%#x has other names", addrs[i])
					}
				}
				if err := c.Add(key, addrs, frames); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNotPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "names")
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, f := some(0x1000, 8, 4)
	add(t, c, a, f)
	c.Close()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("a folder that everybody may write to is used")
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if c, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	file := filepath.Join(dir, key.file())
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, known := c.Find(key, a); count(known) > 0 {
		t.Error("a file that everybody may write to is believed")
	}
	if err := os.Rename(file, file+".old"); err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func() error{
		"link": func() error { return os.Symlink(file+".old", file) },
		"fifo": func() error { return unix.Mkfifo(file, 0o600) },
		"dir":  func() error { return os.Mkdir(file, 0o700) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, known := c.Find(key, a); count(known) > 0 {
			t.Errorf("%s: it is read", what)
		}
		if err := c.Add(key, a, f); err == nil {
			t.Errorf("%s: it is written to", what)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil {
		t.Error("another user's folder is used")
	}
	if _, err := Open(filepath.Join(dir, "below")); err == nil {
		t.Error("root makes a folder in another user's one")
	}
}

func TestPrune(t *testing.T) {
	c, dir := newCache(t)
	a, f := some(0x1000, 8, 100)
	var size int64
	for i := range 10 {
		k := Key{BuildID: fmt.Sprintf("%02x", i), Source: 1}
		if err := c.Add(k, a, f); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(filepath.Join(dir, k.file()))
		if err != nil {
			t.Fatal(err)
		}
		size = st.Size()
		old := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, k.file()), old, old); err != nil {
			t.Fatal(err)
		}
	}
	c.Find(Key{BuildID: "00", Source: 1}, a) // what is used is young again
	if err := c.Prune(3 * size); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name()[:2])
	}
	if d := cmp.Diff([]string{"00", "08", "09"}, left); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
	c.limit = size
	add(t, c, a, f)
	expect(t, c, a, f)
	if u, err := c.Usage(); err != nil || u.Builds != 1 {
		t.Errorf("after an addition over the limit: %+v, %v", u, err)
	}
}

func TestMissing(t *testing.T) {
	if _, err := OpenExisting(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenExisting: %v", err)
	}
	var c *Cache
	a, f := some(0, 1, 4)
	if _, known := c.Find(key, a); count(known) > 0 || c.Add(key, a, f) != nil {
		t.Error("a nil cache knows something")
	}
	c.Close()
}

// A batch that is damaged, or forged, costs memory in proportion to its size, and ends.
func FuzzFind(f *testing.F) {
	addrs, frames := some(0x1000, 8, 20)
	f.Add(appendBatch(nil, addrs, frames)[batchHeader:])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		find(b, addrs, func(i int, list []event.Frame) {
			if len(list) > len(b) {
				t.Fatalf("%d frames in %d bytes", len(list), len(b))
			}
		})
	})
}

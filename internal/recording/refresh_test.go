package recording_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// growing writes a recording's bytes bit by bit.
type growing struct {
	t    *testing.T
	path string
	f    *os.File
	at   int
}

func grow(t *testing.T) *growing {
	t.Helper()
	g := &growing{t: t, path: filepath.Join(t.TempDir(), "a.htap")}
	var err error
	if g.f, err = os.Create(g.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.f.Close() })
	return g
}

func (g *growing) upTo(b []byte, n int) {
	g.t.Helper()
	if _, err := g.f.Write(b[g.at:n]); err != nil {
		g.t.Fatal(err)
	}
	g.at = n
}

// TestRefresh: a reader follows a file that grows by a few bytes at a time. At every moment it gives the same answers
// as one that opens the file then, and it yields each event once.
func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, step := range []int{thinner, 7 * thinner, 100, 997} {
		whole := levels(t, 20, true)
		g := grow(t)
		g.upTo(whole, recording.FileHeaderLength)
		r, err := recording.Open(g.path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var followed []event.Event
		cut := uint64(0)
		for g.at < len(whole) {
			g.upTo(whole, min(g.at+step, len(whole)))
			more, err := r.Refresh()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := r.Refresh(); again || err != nil {
				t.Fatalf("refreshed twice at %d: %v, %v", g.at, again, err)
			}
			_, last := r.Cuts()
			if last > cut && !more {
				t.Fatalf("at %d there are more events, and nothing was said of it", g.at)
			}
			if err := r.Walk(t.Context(), cut, last, func(n, _ uint64, e *event.Event) bool {
				if n != cut {
					t.Fatalf("event %d comes after %d", n, cut)
				}
				cut++
				followed = append(followed, *e)
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if g.at%13 != 0 && more == false && g.at < len(whole) {
				continue // the same as before
			}
			fresh, err := recording.NewReader(bytes.NewReader(whole[:g.at]), int64(g.at), r.Name())
			if err != nil {
				t.Fatal(err)
			}
			want, got := everything(t, fresh), everything(t, r)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("at %d of %d bytes:\n%+v\nopened then:\n%+v", g.at, len(whole), got, want)
			}
		}
		if !r.Complete() {
			t.Errorf("at the end: %v", r.Damage())
		}
		if want := everything(t, r).Events; !reflect.DeepEqual(followed, want) {
			t.Errorf("%d events were followed, there are %d", len(followed), len(want))
		}
	}
}

// TestRefreshStrange: sparse tables, a file that shrinks, a reader without a file.
func TestRefreshStrange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, id := range []uint32{3, 1 << 31, 4, 1<<31 + 1, 3} {
		w.Node(id, event.Node{Parent: uint32(i)})
		w.Module(event.Module{ID: id, Loaded: int64(i)})
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if more, err := r.Refresh(); !more || err != nil {
			t.Fatal(more, err)
		}
		if n, ok := r.Nodes().Get(id); !ok || n.Parent != uint32(i) {
			t.Errorf("node %d: %+v %v", id, n, ok)
		}
	}
	if n := r.Nodes().Len(); n != 4 || len(r.Modules()) != 4 || r.Modules()[0].Loaded != 4 {
		t.Errorf("%d nodes, %+v", n, r.Modules())
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refresh(); err == nil || !strings.Contains(err.Error(), "was cut from") {
		t.Errorf("%v", err)
	}
	b := small(t, true)
	b = b[:len(b)/2] // a whole one has nothing to come
	m, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Refresh(); err == nil {
		t.Error("memory was refreshed")
	}
}

package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/columns/columnstest"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/recording"
)

// layered writes a recording of a program that allocates through wrappers and libraries:
//
//	  10 bytes  main > work > xmalloc
//	 200 bytes  main > work > std::vector > operator new
//	3000 bytes  main > inflate > xmalloc
//	  40 KB     getline, in a thread of libc's own
func layered(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layered.htap")
	w, err := recording.Create(path, event.Process{PID: 1 << 22, Exe: "/bin/app", Args: []string{"app"}},
		recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	modules := []string{"", "/bin/app", "/lib/libz.so.1", "/lib/x86_64-linux-gnu/libc.so.6"}
	for id := uint32(1); id <= 3; id++ {
		at := uint64(id) << 20
		w.Module(event.Module{ID: id, Path: modules[id], Start: at, Bias: at, Unload: -1})
	}
	w.Thread(0, event.Thread{TID: 1})
	frames := map[uint32][]event.Frame{}
	for i, f := range []struct {
		name   string
		module uint32
		parent uint32 // node
	}{
		{"main", 1, 0}, {"work", 1, 1}, {"xmalloc", 1, 2}, {"std::vector<int>::reserve(unsigned long)", 1, 2},
		{"operator new(unsigned long)", 1, 4}, {"inflate", 2, 1}, {"xmalloc", 1, 6}, {"getline", 3, 0},
	} {
		id := uint32(i + 1)
		w.PC(id, event.PC{Addr: uint64(f.module)<<20 + uint64(id)*16, Module: f.module})
		w.Node(id, event.Node{Parent: f.parent, PC: id})
		frames[id] = []event.Frame{{Function: f.name}}
	}
	for stack, size := range map[uint32]uint64{3: 10, 5: 200, 7: 3000, 8: 40_000} {
		e := event.Event{Time: 1000, Kind: event.Alloc, Func: event.Malloc, Stack: stack, Size: size, Ref: event.NoRef}
		if err := w.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 2000, Exited: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKinds: groups and frames say whose code they are, as the server's rules have it; with fold, what wrappers and
// libraries allocate is their callers'.
func TestKinds(t *testing.T) {
	t.Parallel()
	path := layered(t)
	rules := owncode.Rules{}
	for _, c := range []struct {
		own, library string // patterns
		kinds        []string
		folded       []string // function and self
	}{
		{"", "",
			[]string{"getline library", "inflate other", "main own", "operator new(unsigned long) wrapper",
				"std::vector<int>::reserve(unsigned long) library", "work own", "xmalloc wrapper"},
			[]string{" 40000", "inflate 3000", "work 210"}},
		{"inflate", "work",
			[]string{"getline library", "inflate own", "main own", "operator new(unsigned long) wrapper",
				"std::vector<int>::reserve(unsigned long) library", "work library", "xmalloc wrapper"},
			[]string{" 40000", "inflate 3000", "main 210"}},
		// Nothing is own: libraries stay, as in texts.
		{"", "main,work",
			[]string{"getline library", "inflate other", "main library", "operator new(unsigned long) wrapper",
				"std::vector<int>::reserve(unsigned long) library", "work library", "xmalloc wrapper"},
			[]string{"getline 40000", "inflate 3000", "std::vector<int>::reserve(unsigned long) 200", "work 10"}},
	} {
		rules.Own, rules.Library = patterns(t, c.own), patterns(t, c.library)
		a, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{path}, Code: rules})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.Patient()
		if err := a.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := func(query string) (kinds, self []string) {
			var top struct {
				Rows []struct {
					Group struct{ Function, Kind string }
					Self  struct{ Bytes json.Number }
				}
			}
			ask(t, a, "top?limit=0&metric=bytes"+query, &top)
			for _, r := range top.Rows {
				if f := r.Group.Function; f != "" {
					kinds = append(kinds, f+" "+r.Group.Kind)
				}
				if n := r.Self.Bytes; n != "" && n != "0" {
					self = append(self, fmt.Sprint(r.Group.Function, " ", r.Self.Bytes))
				}
			}
			slices.Sort(kinds)
			slices.Sort(self)
			return kinds, self
		}
		kinds, _ := rows("")
		if !slices.Equal(kinds, c.kinds) {
			t.Errorf("own %q, library %q: %q; want %q", c.own, c.library, kinds, c.kinds)
		}
		if _, self := rows("&fold"); !slices.Equal(self, c.folded) {
			t.Errorf("own %q, library %q: folded %q; want %q", c.own, c.library, self, c.folded)
		}
		if _, self := rows("&fold&hide=inflate"); !slices.Contains(self, "main 3000") &&
			!slices.Contains(self, "main 3210") && len(c.folded) == 3 {
			t.Errorf("with hide: %q", self)
		}
		type frame struct{ Function, Kind string }
		var leaks struct{ Frames []frame }
		ask(t, a, "leaks", &leaks)
		var tree struct{ Nodes []struct{ Group *frame } }
		ask(t, a, "tree?threshold=0", &tree)
		list := leaks.Frames
		for _, n := range tree.Nodes {
			if n.Group != nil {
				list = append(list, *n.Group)
			}
		}
		if len(list) < 16 {
			t.Errorf("leaks and the tree have %d frames", len(list))
		}
		for _, f := range list {
			if one := f.Function + " " + f.Kind; !slices.Contains(c.kinds, one) {
				t.Errorf("own %q, library %q: a frame is %q", c.own, c.library, one)
			}
		}
	}
}

// TestKindsAreInTags: a browser that has the answer of a server with other rules does not take it for this server's.
func TestKindsAreInTags(t *testing.T) {
	t.Parallel()
	path := layered(t)
	tags := map[string]bool{}
	for _, own := range []string{"", "inflate", "libz"} {
		a, err := New(t.Context(), Options{Finder: &input.Finder{}, Args: []string{path},
			Code: owncode.Rules{Own: patterns(t, own)}})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.Patient()
		tags[ask(t, a, "top", &struct{}{})] = true
	}
	if len(tags) != 3 {
		t.Errorf("tags %v", tags)
	}
}

func patterns(t *testing.T, texts string) []owncode.Pattern {
	t.Helper()
	if texts == "" {
		return nil
	}
	list, err := owncode.ParsePatterns(strings.Split(texts, ","))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ask puts a question to the first recording, and returns the answer's tag.
func ask(t *testing.T, a *API, question string, to any) string {
	t.Helper()
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	id := a.shelf.sets[0].entries[0].id
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/r/"+id+"/"+question, nil))
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	b, err := json.Marshal(columnstest.Decode(t, []byte(lines[len(lines)-1])))
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %v %.300s", question, w.Code, err, w.Body)
	}
	return w.Header().Get("ETag")
}

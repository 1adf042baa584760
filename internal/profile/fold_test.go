package profile

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// foldings makes a profile of the program /bin/a with stacks of these functions, leaf first, and returns the stacks'
// ids. A function MODULE!NAME belongs to another file; one that begins with + is inlined into the next; ? has no name.
func foldings(t *testing.T, stacks ...string) (*Profile, []uint32) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 1, Exe: "/bin/a"},
		recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]uint32{}
	module := func(name string) uint32 {
		if modules[name] == 0 {
			id := uint32(len(modules) + 1)
			modules[name] = id
			w.Module(event.Module{ID: id, Path: name, Start: uint64(id) << 32, Bias: uint64(id) << 32, Unload: -1})
		}
		return modules[name]
	}
	frames := map[uint32][]event.Frame{}
	var ids []uint32
	var events []event.Event
	sum := tally.New()
	next := uint32(1)
	for k, text := range stacks {
		parent := uint32(0)
		var inlined []event.Frame
		words := strings.Fields(text)
		slices.Reverse(words)
		var pcs [][]string // outermost first; of each pc the outermost frame first
		for _, word := range words {
			if strings.HasPrefix(word, "+") {
				pcs[len(pcs)-1] = append(pcs[len(pcs)-1], word[1:])
			} else {
				pcs = append(pcs, []string{word})
			}
		}
		for _, names := range pcs {
			file, _, other := strings.Cut(names[0], "!")
			if !other {
				file = "/bin/a"
			}
			id := module(file)
			w.PC(next, event.PC{Addr: uint64(id)<<32 + uint64(next), Module: id})
			inlined = nil
			for i, name := range slices.Backward(names) {
				if _, rest, ok := strings.Cut(name, "!"); ok {
					name = rest
				}
				if name != "?" {
					inlined = append(inlined, event.Frame{Function: name, Inlined: i > 0})
				}
			}
			if len(inlined) > 0 {
				frames[next] = inlined
			}
			w.Node(next, event.Node{Parent: parent, PC: next})
			parent = next
			next++
		}
		ids = append(ids, parent)
		events = append(events, event.Event{Time: int64(k + 1), Func: event.Malloc, Stack: parent, Size: 8,
			Ref: event.NoRef})
	}
	for i := range events {
		sum.Add(&events[i])
	}
	w.Thread(0, event.Thread{TID: 1})
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(recording.Ending{End: 1e6, Exited: true, Tally: sum}); err != nil {
		t.Fatal(err)
	}
	p, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return p, ids
}

func text(l Levels) string {
	var parts []string
	for _, x := range l.List {
		if x.Left > 0 {
			parts = append(parts, fmt.Sprintf("...%d", x.Left))
		}
		name := x.Function
		if name == "" {
			name = "?"
		}
		if x.Times > 1 {
			name += fmt.Sprintf("*%d", x.Times)
		}
		if x.Within > 0 {
			name += fmt.Sprintf("(%d)", x.Within)
		}
		parts = append(parts, name)
	}
	if l.Outside > 0 {
		parts = append(parts, fmt.Sprintf("outside:%d", l.Outside))
	}
	return strings.Join(parts, " ")
}

func TestLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stack, want string }{
		{"main _start", "main"},
		{"xmalloc load main _start", "load(1) main"},
		{"std::a std::b load std::c main", "load(2) main(1)"},
		{"std::a +own_lambda std::sort main", "own_lambda(1) main(1)"}, // inlined own code is a line
		{"+own_inline std::sort main", "own_inline main(1)"},
		{"/lib/libz.so!inflate png main", "inflate png main"}, // other people's code is not folded
		{"work /lib/libstdc++.so.6!std::run /lib/libstdc++.so.6!execute clone", "work outside:2"},
		{"rec rec rec main", "rec*3 main"},
		{"/lib/s.so!? /lib/s.so!sqlite3Malloc /lib/s.so!step main", "step(2) main"}, // within a wrapper: one, too
		// Nothing is own: only wrappers are folded.
		{"/lib/libc.so.6!malloc /lib/libc.so.6!getline /lib/libz.so!f", "getline(1) f"},
		{"/lib/libc.so.6!malloc /lib/libc.so.6!calloc", "malloc calloc"}, // nothing but wrappers
	} {
		p, ids := foldings(t, c.stack)
		if got := text(p.NewFolding(owncode.Rules{}, false).Lines(ids[0])); got != c.want {
			t.Errorf("%s: %q, want %q", c.stack, got, c.want)
		}
	}
	p, ids := foldings(t, "xmalloc std::a load main")
	if got := text(p.NewFolding(owncode.Rules{}, true).Lines(ids[0])); got != "xmalloc std::a load main" {
		t.Errorf("all frames: %q", got)
	}
}

func TestFoldKeeps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stack string
		limit int
		brief bool
		want  string
	}{
		{"a b c d main", 5, true, "a b c d main"},
		{"a b c d e f main", 5, true, "a b c ...3 main"},
		// Own code before others, the innermost frame next.
		{"z!1 z!2 z!3 z!4 z!5 a b main", 6, true, "1 2 ...3 a b main"},
		{"z!1 z!2 z!3 z!4 a z!5 z!6 z!7 main", 5, true, "1 ...3 a ...3 main"},
		{"z!1 z!2 a b c d e f g h main", 3, true, "...2 a ...7 main"},
		// Without own code: three and the outermost.
		{"z!1 z!2 z!3 z!4 z!5 z!6 z!7", 8, true, "1 2 3 ...3 7"},
		{"z!1 z!2 z!3 z!4 z!5 z!6 z!7", 8, false, "1 2 3 4 5 6 7"},
		{"z!xmalloc z!2 z!3 z!4 z!5 z!6 z!7", 8, true, "2(1) 3 4 ...2 7"},
		{"z!1 z!2 z!3 z!4", 8, true, "1 2 3 4"},
	} {
		p, ids := foldings(t, c.stack)
		if got := text(p.NewFolding(owncode.Rules{}, false).Fold(ids[0], c.limit, c.brief)); got != c.want {
			t.Errorf("%s, %d: %q, want %q", c.stack, c.limit, got, c.want)
		}
	}
}

// TestFoldAny: in any stack, own frames are lines, every frame is counted once, and limits hold.
func TestFoldAny(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"own", "own2", "+own_inline", "std::f", "xmalloc", "z!other", "?", "z!?", "libc.so.6!read"}
	for range 200 {
		var words []string
		for range 1 + random.IntN(30) {
			words = append(words, names[random.IntN(len(names))])
		}
		words = append(words, "main")
		p, ids := foldings(t, strings.Join(words, " "))
		f := p.NewFolding(owncode.Rules{}, false)
		own, all := 0, 0
		for _, e := range f.entries(ids[0]) {
			all++
			if e.kind == owncode.Own {
				own++
			}
		}
		l := f.Lines(ids[0])
		sum := l.Outside
		for _, x := range l.List {
			sum += x.Times + x.Within
			if x.Kind == owncode.Own {
				own -= x.Times
			}
		}
		if sum != all || own != 0 {
			t.Fatalf("%v: %d of %d frames are counted, %d own ones are not lines: %s", words, sum, all, own, text(l))
		}
		limit := 3 + random.IntN(10)
		short := f.Fold(ids[0], limit, true)
		lines := len(short.List)
		for _, x := range short.List {
			if x.Left > 0 {
				lines++
			}
		}
		if lines > max(limit, 4) { // own, outermost, and what is between
			t.Fatalf("%v: %d lines, at most %d: %s", words, lines, limit, text(short))
		}
	}
}

// TestDistinguish: three rows that look equal become three functions; rows that differ only in the count do, too.
func TestDistinguish(t *testing.T) {
	t.Parallel()
	const lib = "/lib/libstdc++.so.6!"
	p, ids := foldings(t,
		"std::alloc_ std::parse_header std::run handle main",
		"std::alloc_ std::parse_body std::run handle main",
		"std::alloc_ std::more std::parse_end std::run handle main",
		"std::alloc_ std::parse_header std::run other main",
		lib+"std::vector<int>::grow std::run twice main",
		lib+"std::vector<long>::grow std::walk twice main")
	f := p.NewFolding(owncode.Rules{}, false)
	bare := func(stack uint32, opened ...int) string {
		l := f.Lines(stack, opened...)
		for i := range l.List {
			l.List[i].Within = 0
		}
		return text(l)
	}
	opened := f.Distinguish(ids, bare)
	for i, want := range []string{"std::parse_header(1) handle(1) main", "std::parse_body(1) handle(1) main",
		"std::more(1) handle(2) main", "other(3) main", "std::run(1) twice main", "std::walk(1) twice main"} {
		if got := text(f.Lines(ids[i], opened[ids[i]]...)); got != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
	// What does not show is not opened.
	if got := f.Distinguish(ids, func(uint32, ...int) string { return "…" }); len(got) != 0 {
		t.Errorf("opened in vain: %v", got)
	}
}

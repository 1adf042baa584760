package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// program describes a recording: each function of main leaks one block of its size.
type program struct {
	name   string
	leaks  []leak
	health event.Health
	cut    bool // it does not reach its end
}

type leak struct {
	function string
	size     uint64
}

func (p *program) record(t *testing.T) *query.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), p.name+".htap")
	w, err := recording.Create(path, event.Process{PID: 1, Exe: "/bin/" + p.name, Args: []string{p.name}},
		recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Module(event.Module{ID: 1, Path: "/bin/" + p.name, Start: 0x1000, Bias: 0x1000, Unload: -1})
	w.Thread(0, event.Thread{TID: 1, Name: p.name})
	w.PC(1, event.PC{Addr: 0x1010, Module: 1})
	w.Node(1, event.Node{PC: 1})
	frames := map[uint32][]event.Frame{1: {{Function: "main", File: "a.c", Line: 1}}}
	sum := tally.New()
	var events []event.Event
	for i, l := range p.leaks {
		id := uint32(i + 2)
		w.PC(id, event.PC{Addr: 0x1010 + uint64(id)*16, Module: 1})
		w.Node(id, event.Node{Parent: 1, PC: id})
		frames[id] = []event.Frame{{Function: l.function, File: "a.c", Line: id}}
		e := event.Event{Time: int64(i+1) * 1000, Func: event.Malloc, Stack: id, Size: l.size, Ref: event.NoRef}
		events = append(events, e)
		sum.Add(&e)
	}
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(frames); err != nil {
		t.Fatal(err)
	}
	if p.cut {
		if err = w.Flush(); err == nil {
			err = w.Abort()
		}
	} else {
		err = w.Finish(recording.Ending{End: 1e6, Exited: true, Health: p.health, Tally: sum})
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := query.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// ask checks a recording and returns the names of the checks that fail, with the functions that they blame.
func ask(t *testing.T, g *Gate, s *query.Source) map[string]string {
	t.Helper()
	if g.Question == nil {
		g.Question = func(*query.Source) (*query.Query, error) { return &query.Query{}, nil }
	}
	list, _, err := g.Ask(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(map[string]string)
	for i := range list {
		c := &list[i]
		if !c.Failed {
			if len(c.Stacks) > 0 {
				t.Errorf("%s holds, but blames stacks", c.Name())
			}
			continue
		}
		var names []string
		for _, st := range c.Stacks {
			names = append(names, s.Frames(st.ID)[0].Function)
		}
		failed[c.Name()] = strings.Join(names, " ")
	}
	return failed
}

// TestBlame: if a limit is exceeded, the largest stacks that together make up the excess are reported.
func TestBlame(t *testing.T) {
	t.Parallel()
	s := (&program{name: "a", leaks: []leak{{"small", 10}, {"large", 100}, {"middle", 50}}}).record(t)
	for most, want := range map[uint64]map[string]string{
		160: {}, 1000: {},
		159: {"max-leaked": "large"},
		60:  {"max-leaked": "large"},
		59:  {"max-leaked": "large middle"},
		10:  {"max-leaked": "large middle"},
		0:   {"max-leaked": "large middle small"},
	} {
		got := ask(t, &Gate{Limits: []Limit{{query.Leaked, most}}}, s)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("limit %d:\n%s", most, d)
		}
	}
	rules, err := query.ParseSuppressions(strings.NewReader("leak:^large$\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Limits: []Limit{{query.Leaked, 50}, {query.LeakedBlocks, 2}, {query.Bytes, 150}},
		Known: query.LeakFilter{Rules: rules}}
	for range 2 { // each recording has its own sums of the rules
		if d := cmp.Diff(map[string]string{"max-leaked": "middle", "max-bytes": "large"}, ask(t, g, s)); d != "" {
			t.Errorf("with suppressions:\n%s", d)
		}
		_, known, _ := g.Ask(t.Context(), s)
		if want := []query.Suppression{{Pattern: "^large$", Where: "x:1", Bytes: 100, Blocks: 1, Stacks: 1,
			Hidden: []uint32{3}}}; !cmp.Equal(want, known) {
			t.Errorf("suppressed: %+v", known)
		}
	}
}

// TestBaseline: functions at other lines, or in a program of another name, are the same. Growth is reported for those
// that grew.
func TestBaseline(t *testing.T) {
	t.Parallel()
	before := (&program{name: "old", leaks: []leak{{"a", 500}, {"b", 400}, {"gone", 100}}}).record(t)
	after := (&program{name: "new", leaks: []leak{{"fresh", 90}, {"b", 430}, {"a", 500}}}).record(t)
	for _, c := range []struct {
		tolerance, stacks float64
		want              map[string]string
	}{
		{.02, -1, map[string]string{}},
		{.01, -1, map[string]string{"baseline-leaked": "fresh"}},
		{.02, .05, map[string]string{"baseline-stacks-leaked": "fresh"}},
		{.02, .02, map[string]string{"baseline-stacks-leaked": "fresh b"}},
		{.02, .09, map[string]string{}},
		{0, -1, map[string]string{"baseline-leaked": "fresh"}},
	} {
		b := &Baseline{Sources: []*query.Source{before}, Metrics: []query.Metric{query.Leaked},
			Tolerance: c.tolerance, Stacks: c.stacks}
		if d := cmp.Diff(c.want, ask(t, &Gate{Baseline: b}, after)); d != "" {
			t.Errorf("tolerance %v, of a stack %v:\n%s", c.tolerance, c.stacks, d)
		}
		b = &Baseline{Sources: []*query.Source{after}, Metrics: b.Metrics, Tolerance: c.tolerance, Stacks: c.stacks}
		if d := cmp.Diff(map[string]string{}, ask(t, &Gate{Baseline: b}, after)); d != "" {
			t.Errorf("against itself:\n%s", d)
		}
	}
}

// TestMissing: an incomplete recording does not pass, nor does one that is compared with an incomplete baseline.
func TestMissing(t *testing.T) {
	t.Parallel()
	whole := (&program{name: "a", leaks: []leak{{"a", 1}}}).record(t)
	for _, p := range []*program{
		{health: event.Health{LostEvents: 1}}, {health: event.Health{NoThread: 1}}, {cut: true},
	} {
		p.name, p.leaks = "a", []leak{{"a", 1}}
		s := p.record(t)
		limits := []Limit{{query.Leaked, 1}}
		failed := map[string]string{"complete": ""}
		for _, allow := range []bool{false, true} {
			want := failed
			if allow {
				want = map[string]string{}
			}
			for what, got := range map[string]map[string]string{
				"limit": ask(t, &Gate{Limits: limits, AllowLost: allow}, s),
				"baseline": ask(t, &Gate{AllowLost: allow,
					Baseline: &Baseline{Sources: []*query.Source{s}, Metrics: []query.Metric{query.Leaked}}}, whole),
			} {
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%+v, allowed %v, %s:\n%s", p, allow, what, d)
				}
			}
		}
	}
	if got := ask(t, &Gate{Limits: []Limit{{query.Leaked, 1}}}, whole); len(got) > 0 {
		t.Errorf("a complete recording fails: %v", got)
	}
}

// TestRunsFail: an error of any of several runs is an error of all.
func TestRunsFail(t *testing.T) {
	t.Parallel()
	rules, err := query.ParseSuppressions(strings.NewReader("leak:broad$\n"), "x")
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{NoGrowth: true, Known: query.LeakFilter{Rules: rules},
		Question: func(*query.Source) (*query.Query, error) { return &query.Query{}, nil }}
	broad := (&program{name: "broad", leaks: []leak{{"f", 1}}}).record(t) // whose main the rule matches
	other := (&program{name: "other", leaks: []leak{{"f", 1}}}).record(t)
	if _, _, err := g.AskRuns(t.Context(), []*query.Source{broad}); err == nil {
		t.Fatal("the rule is not too broad")
	}
	if _, _, err := g.AskRuns(t.Context(), []*query.Source{other}); err != nil {
		t.Fatal(err)
	}
	for _, runs := range [][]*query.Source{{broad, other}, {other, broad}} {
		if _, _, err := g.AskRuns(t.Context(), runs); err == nil {
			t.Error("the error of a run is lost")
		}
	}
}

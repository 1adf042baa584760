package recording_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// answer is everything that a reader says of a file.
type answer struct {
	Process event.Process
	Threads []event.Thread
	Modules []event.Module
	PCs     []event.PC
	Nodes   []event.Node
	Samples []event.Sample
	Counts  *event.Counts
	Pages   []event.PageReading
	Frames  map[uint32][]event.Frame
	Ending  recording.Ending
	Ended   bool
	Tally   *tally.Summary
	Events  []event.Event
	Damage  []string
	Queries []reply
}

// reply is the result of a question: either Value or Err is set.
type reply struct {
	Question string
	Value    any
	Err      error
}

// ask reads everything, and asks questions about a recording of n events. whole is what the reader's Complete returns.
func ask(b []byte, n uint64) (a answer, whole bool, err error) {
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x.htap")
	if err != nil {
		return a, false, err
	}
	a, err = askReader(r, n)
	return a, r.Complete(), err
}

func askReader(r *recording.Reader, n uint64) (a answer, err error) {
	a = answer{Process: r.Process(), Threads: r.Threads(), Modules: r.Modules(), Samples: r.Samples(),
		Frames: r.Symbols(),
		Counts: r.Counts()}
	r.PCs().All(func(_ uint32, p event.PC) bool { a.PCs = append(a.PCs, p); return true })
	r.Nodes().All(func(_ uint32, n event.Node) bool { a.Nodes = append(a.Nodes, n); return true })
	a.Ending, a.Ended = r.Ending()
	if a.Tally, err = r.Tally(); err != nil {
		return a, err
	}
	err = r.Events(func(e *event.Event) bool { a.Events = append(a.Events, *e); return true })
	r.PageReadings().All(func(p *event.PageReading) bool { a.Pages = append(a.Pages, *p); return true })
	a.Queries = questions(r, n)
	a.Damage = r.Damage()
	return a, err
}

// everything returns the answers of a reader of a recording that is whole, or whole up to some point.
func everything(t *testing.T, r *recording.Reader) answer {
	t.Helper()
	_, last := r.Cuts()
	a, err := askReader(r, last)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range a.Queries {
		if q.Err != nil {
			t.Fatalf("%s: %v", q.Question, q.Err)
		}
	}
	return a
}

// questions asks all kinds of questions, so that all summaries are read.
func questions(r *recording.Reader, n uint64) (list []reply) {
	ctx := context.Background()
	add := func(v any, err error, question string, args ...any) {
		if err != nil {
			v = nil
		}
		list = append(list, reply{fmt.Sprintf(question, args...), v, err})
	}
	for _, c := range [][2]uint64{{0, n}, {1, n}, {n / 5, n - n/7}, {n / 2, n/2 + 1}} {
		from, to := c[0], c[1]
		changes, err := timetravel.Changes(ctx, r, from, to)
		add(byStack(changes.List()), err, "changes %d to %d", from, to)
		bytes, cut, err := timetravel.PeakBetween(ctx, r, from, to)
		add([2]uint64{bytes, cut}, err, "peak between %d and %d", from, to)
		kept, err := timetravel.KeptAt(ctx, r, from, to, to+(n-to)/2, nil)
		sort.Slice(kept, func(i, j int) bool { return kept[i].Stack < kept[j].Stack })
		add(kept, err, "kept of %d to %d", from, to)
		levels, err := timetravel.Levels(ctx, r, from, to, 3)
		add(levels, err, "levels %d to %d", from, to)
		var series [][]recording.Change
		err = timetravel.Series(ctx, r, from, to, 2, func(cut uint64, l []recording.Change) {
			series = append(series, append(byStack(l), recording.Change{Allocs: cut}))
		})
		add(series, err, "series %d to %d", from, to)
		begin, err := r.TimeAt(from)
		end, failed := r.TimeAt(to)
		if err = errors.Join(err, failed); err == nil {
			var line timetravel.Timeline
			var steps []timetravel.LevelStep
			steps, _, err = line.Steps(ctx, r, from, to, []int64{begin, begin/2 + end/2, end},
				timetravel.Precision{Least: true})
			add(steps, err, "timeline %d to %d", from, to)
		}
	}
	for _, cut := range []uint64{n / 3, n - n/4, n} {
		live, err := timetravel.LiveAt(ctx, r, cut)
		sum := map[uint32]timetravel.Live{}
		for _, l := range live {
			sum[l.Stack] = l
		}
		add(sum, err, "live at %d", cut)
		at, err := r.TimeAt(cut)
		add(at, err, "time at %d", cut)
	}
	for _, at := range []int64{0, 100, 1000, 4000, 1 << 62} {
		cut, err := r.CutAt(at)
		add(cut, err, "cut at %d ns", at)
	}
	var blocks []event.Block
	err := timetravel.BlocksAt(ctx, r, n/2, func(b *event.Block) bool { blocks = append(blocks, *b); return true })
	add(blocks, err, "blocks at %d", n/2)
	born, died, bornAt, diedAt, err := timetravel.History(ctx, r, n/8)
	add([]any{born, died, bornAt, diedAt}, err, "history of %d", n/8)
	levels, err := timetravel.Levels(ctx, r, 0, n, 1000)
	add(levels, err, "levels in many steps")
	return list
}

// levels makes a recording of so many blocks of events, with a summary for each 16 of them, and one more for 256. Most
// blocks store their changes.
func levels(t testing.TB, blocks int, finish bool) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "levels.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(2) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: "t"})
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i)})
		w.Node(i+1, event.Node{Parent: i, PC: i + 1})
	}
	const each = 6
	events := program{threads: 2, stacks: 2, window: 9, burst: 9, lifo: .5, realloc: .1, tick: 10}.run(uint64(blocks),
		blocks*each)
	for i := range events {
		if err := w.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
		if i%each == each-1 {
			if i == each*blocks/2 {
				w.Node(3, event.Node{Parent: 2, PC: 1})
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if finish {
		err = w.Finish(recording.Ending{End: 1e6, Exited: true})
	} else {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// eventBlocks returns the blocks of events of a recording.
func eventBlocks(r *recording.Reader) (list []recording.Block) {
	for _, b := range r.Blocks() {
		if b.Type == "events" {
			list = append(list, b)
		}
	}
	return list
}

// blockOf returns the first block of events that ends after a cut.
func blockOf(r *recording.Reader, cut uint64) int {
	list := eventBlocks(r)
	return sort.Search(len(list), func(i int) bool { return list[i].FirstEvent+list[i].Events > cut })
}

// payload is that of a block in a file.
func payload(file []byte, b recording.Block) []byte {
	return file[b.Offset+recording.HeaderLength : b.Offset+b.Size]
}

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/query"
)

// The section on a recording of 10^9 events. A separate run measures it; all other runs keep it.
const bigHeading = "## A recording of 10^9 events\n"

const bigUnmeasured = bigHeading + "\nNot measured yet: `make bench-big`.\n\n"

// Goals of a big recording.
const (
	opensIn   = .1    // s
	opensWith = 250e6 // bytes
	asksIn    = .1    // s, at the 99th percentile
)

// bigCommands are the commands that open and summarise a big recording, each in a process of its own.
var bigCommands = []string{"top", "report", "timeline", "tree --from 33% --to 66%"}

// bigRounds is how often a question is asked of an open recording, each time about other random moments.
const bigRounds = 200

// big is a recording with too many events to read them all for each question.
type big struct {
	large
	asksWarm []warm
}

// warm is a question asked of an open recording, and how long each answer took.
type warm struct {
	name  string
	goal  bool
	walls []float64 // s
	cpus  []float64 // s, summed over all processors
}

// askBig records the python workload, for about that many events, unless file names a recording, and asks all
// questions.
func (b *bench) askBig(events float64, file string) (*big, error) {
	if file == "" {
		file = filepath.Join(b.dir, "big.htap")
		if err := b.recordLoop(events, file); err != nil {
			return nil, err
		}
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	g := &big{large: large{bytes: float64(st.Size())}}
	for _, q := range bigCommands {
		a := asked{question: q}
		var walls, cpus []float64
		for range 7 {
			if err := b.ask(&a, &g.large, file); err != nil {
				return nil, err
			}
			walls, cpus = append(walls, a.wall), append(cpus, a.cpu)
		}
		a.wall, a.cpu = median(walls), median(cpus)
		g.asked = append(g.asked, a)
	}
	return g, g.ask(file)
}

// ask asks the open recording questions about random moments.
func (g *big) ask(file string) error {
	s, err := query.Open(file)
	if err != nil {
		return err
	}
	defer s.Close()
	_, last := s.Reader.Cuts()
	end, err := s.Reader.TimeAt(last)
	if err != nil {
		return err
	}
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 2))
	between := func(by func(ctx context.Context, s *query.Source, q *query.Query) error) func() error {
		return func() error {
			x, y := rng.Int64N(end), rng.Int64N(end)
			from, err := s.Reader.CutAt(min(x, y))
			if err != nil {
				return err
			}
			to, err := s.Reader.CutAt(max(x, y))
			if err != nil {
				return err
			}
			return by(ctx, s, &query.Query{Range: &query.Range{From: from, To: to}})
		}
	}
	for _, q := range []struct {
		name string
		goal bool
		f    func() error
	}{
		{"flame graph of a range of time", true,
			between(func(ctx context.Context, s *query.Source, q *query.Query) error {
				_, err := query.TopDown(ctx, s, q, query.Trim{Share: .001})
				return err
			})},
		{"live by call stack at a moment", false, func() error {
			at, err := s.Reader.CutAt(rng.Int64N(end))
			if err != nil {
				return err
			}
			_, err = query.Flat(ctx, s, &query.Query{At: &at, By: query.ByStack, Metrics: []query.Metric{query.Live}})
			return err
		}},
		{"peak of a range of time", false, between(func(ctx context.Context, s *query.Source, q *query.Query) error {
			q.Metrics = []query.Metric{query.Peak}
			_, err := query.Flat(ctx, s, q)
			return err
		})},
		{"how a range of time develops, in 200 steps", false,
			between(func(ctx context.Context, s *query.Source, q *query.Query) error {
				_, err := query.DevelopRoughly(ctx, s, q, 200, 5)
				return err
			})},
	} {
		w := warm{name: q.name, goal: q.goal}
		for range bigRounds {
			began, used := time.Now(), ownCPU()
			if err := q.f(); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			w.walls, w.cpus = append(w.walls, time.Since(began).Seconds()), append(w.cpus, ownCPU()-used)
		}
		g.asksWarm = append(g.asksWarm, w)
		fmt.Fprintf(os.Stderr, "%-50s %6.4f s, 99th percentile %6.4f s\n", w.name, median(w.walls),
			quantile(w.walls, .99))
	}
	return nil
}

// ownCPU returns the CPU time of this process, s.
func ownCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// section returns the section that bench-big writes.
func (g *big) section() string {
	var b strings.Builder
	b.WriteString(bigHeading + "\n")
	fmt.Fprintf(&b, "Written by `make bench-big`: the python workload for longer, recorded by `heaptap run`: %.1fM "+
		"events, %.1f MB, %.2f bytes per event. Machine: %s. In bold: worse than its goal.\n\n", g.events/1e6,
		g.bytes/1e6, g.bytes/g.events, machine())
	b.WriteString("Open and summarise, each time in a new process, asked for JSON. Goal: 100 ms and 250 MB.\n\n| " +
		"command | wall | CPU | largest resident set |\n|---|--:|--:|--:|\n")
	for i, a := range g.asked {
		fmt.Fprintf(&b, "| heaptap %s | %s | %.0f ms | %s |\n", a.question, bold(fmt.Sprintf("%.0f ms", a.wall*1e3),
			i == 0 && a.wall > opensIn), a.cpu*1e3, bold(fmt.Sprintf("%.0f MB", a.memory/1e6), i == 0 &&
			a.memory > opensWith))
	}
	fmt.Fprintf(&b, "\nAsked %d times of the open recording, about random moments. Goal: a flame graph in 100 ms at "+
		"the 99th percentile.\n\n| question | median | 99th percentile | worst | CPU, median | 99th percentile "+
		"|\n|---|--:|--:|--:|--:|--:|\n", bigRounds)
	for _, w := range g.asksWarm {
		late := quantile(w.walls, .99)
		fmt.Fprintf(&b, "| %s | %.1f ms | %s | %.1f ms | %.1f ms | %.1f ms |\n", w.name, median(w.walls)*1e3,
			bold(fmt.Sprintf("%.1f ms", late*1e3), w.goal && late > asksIn), quantile(w.walls, 1)*1e3,
			median(w.cpus)*1e3, quantile(w.cpus, .99)*1e3)
	}
	return b.String() + "\n"
}

package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/annotate"
	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/diff"
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
)

// Question is a question that can be put to a recording: GET /api/v1/r/RECORDING/NAME.
type Question struct {
	Name, Text string
	Parameters []string // names
	Answers    []reflect.Type
	Command    string // that gives the same answer, and its flags beside the parameters; "": none

	// Changing: the answer depends on more than the recording, so it is neither kept nor has an ETag.
	Changing bool

	preset func(a *asked)                                  // the defaults; nil: none
	answer func(ctx context.Context, c *call) (any, error) // needs no query
	ask    func(ctx context.Context, c *call, q *query.Query) (any, error)
}

// call is a question put to a recording.
type call struct {
	*asked
	s        *query.Source
	rec      *opened
	shelf    *shelf
	options  *Options
	filters  []string  // that were given, as flags
	held     []*opened // other recordings that the answer refers to
	progress func(done, total uint64)
}

// paged are parameters of answers with rows.
var paged = []string{"skip", "limit"}

// Questions are all questions. To add one, add a row; to add a parameter, a row in Parameters.
var Questions = []Question{
	{Name: "about", Text: "what the recording can answer, and what it lacks", Answers: answers[About](),
		answer: func(_ context.Context, c *call) (any, error) { return newAbout(c.s), nil }},
	{Name: "ps", Text: "the programs of the recording's run; with timeline, how the memory of each developed",
		Parameters: []string{"timeline"}, Answers: answers[answer.Run](), Command: "ps", Changing: true,
		answer: func(ctx context.Context, c *call) (any, error) {
			c.shelf.refresh(c.rec.entry.set)
			return c.rec.entry.set.describe(ctx, c.timeline)
		}},
	{Name: "report", Text: "where the memory went: totals, peak, leaks, and the call stacks that stand out",
		Parameters: with(filters, "top"), Answers: answers[answer.Report](), Command: "report",
		preset: func(a *asked) { a.top = 5 }, answer: report},
	{Name: "top", Text: "a table: a row for each function, line, module, thread ...", Command: "top",
		Parameters: with(filters, "by", "metric", "at", "sort", "self", "reverse", "match", "rough", "fold",
			"skip", "limit"), Answers: answers[answer.Top](),
		preset: grouped(query.ByFunction, 20, query.Peak, query.Bytes, query.Leaked), ask: top},
	{Name: "tree", Text: "the call tree; with of, the callers and the callees of functions", Command: "tree",
		Parameters: with(filters, "by", "metric", "at", "up", "of", "threshold", "depth", "nodes", "below", "rough",
			"fold"),
		Answers: append(answers[answer.Tree](), answers[answer.Sandwich]()...), ask: tree,
		preset: func(a *asked) {
			grouped(query.ByFunction, 0, query.Peak)(a)
			a.Threshold = "1%"
		}},
	{Name: "change", Text: "what differs between the moments from and to, by call stack: as heaptap diff",
		Parameters: with(filters, "by", "metric", "rough", "skip", "limit"), Answers: answers[answer.Difference](),
		preset: grouped(query.ByStack, 20, query.Live, query.LiveBlocks), ask: change},
	{Name: "diff", Text: "what differs from another range, or from other recordings (with); of several runs, medians",
		Parameters: with(filters, "with", "also", "from2", "to2", "by", "metric", "at", "scale", "unchanged", "fold",
			"tree", "up", "below", "threshold", "depth", "nodes", "skip", "limit"),
		Answers: append(answers[answer.Compared](), answers[answer.ComparedTree]()...), Changing: true, ask: differ,
		preset: func(a *asked) {
			grouped(query.ByStack, 20, query.Bytes, query.Peak, query.Leaked)(a)
			a.Threshold, a.from2, a.to2 = "1%", "start", "end"
		}},
	{Name: "timeline", Text: "how live memory developed; with stack, the threads' stacks", Command: "timeline",
		Parameters: with(filters, "by", "metric", "top", "steps", "stack", "fold"),
		Answers:    append(answers[answer.Timeline](), answers[answer.StackTimeline]()...), ask: timeline,
		preset: func(a *asked) {
			grouped(query.ByStack, 0, query.Peak)(a)
			a.top = -1
		}},
	{Name: "process", Text: "how the memory of the whole process developed; with rough, at once",
		Parameters: []string{"from", "to", "steps", "rough"}, Answers: answers[answer.ProcessTimeline](),
		preset: func(a *asked) { a.steps = 400 },
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			t, err := query.Timeline(ctx, c.s, q, c.steps, c.rough != "")
			if err != nil {
				return nil, err
			}
			return answer.NewProcessTimeline(c.s, t), nil
		}},
	{Name: "curve", Text: "how what a filter selects, or functions, developed over the whole run: from the atlas",
		Parameters: []string{"module", "focus", "ignore", "hide", "by", "of"}, Answers: answers[answer.Curve](),
		preset: grouped(query.ByFunction, 0),
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			match, err := c.matching()
			if err != nil {
				return nil, err
			}
			x, err := curve(ctx, c, q, match)
			if err != nil {
				return nil, err
			}
			return answer.NewCurve(c.s, x), nil
		}},
	{Name: "hist", Text: "how sizes and lifetimes are distributed", Command: "hist",
		Parameters: with(filters, "heat", "rough", "skip", "limit"), Answers: answers[answer.Hist](),
		preset: func(a *asked) { a.Limit = 10 },
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			distribute := query.Distribute
			if c.rough != "" {
				distribute = query.Classify
			}
			h, err := distribute(ctx, c.s, q)
			if c.rough != "" && errors.Is(err, query.ErrNotAtOnce) {
				q.Estimate = c.sample()
				h, err = query.EstimateSizes(ctx, c.s, q)
			}
			if err != nil {
				return nil, err
			}
			return answer.NewHist(c.s, h, c.heat, c.Page), nil
		}},
	{Name: "threads", Text: "what each thread allocated, and who freed it; with rough, of the whole run, at once",
		Command: "threads", Parameters: with(filters, "rough", "skip", "limit"), Answers: answers[answer.Threads](),
		preset: func(a *asked) { a.Limit = 20 },
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			q.Metrics = []query.Metric{query.Allocations, query.Bytes, query.Live, query.OwnPeak, query.Temporary,
				query.Depth}
			ask := query.Threads
			if c.rough != "" {
				ask = query.SumThreads
			}
			t, err := ask(ctx, c.s, q)
			if err != nil {
				return nil, err
			}
			return answer.NewThreads(c.s, t, framesize.Find(ctx, c.s), c.Page), nil
		}},
	{Name: "leaks", Text: "what was never freed, and what keeps growing", Command: "leaks",
		Parameters: with(filters, "runtime", "skip", "limit"), Answers: answers[answer.Leaks](),
		preset: func(a *asked) { a.Limit = 20 },
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			l, err := query.AskLeaks(ctx, c.s, q, query.LeakFilter{Runtime: c.runtime}, true)
			if err != nil {
				return nil, err
			}
			return answer.NewLeaks(c.s, l, c.Page), nil
		}},
	{Name: "insights", Text: "what stands out: problems in words, what saves most first",
		Answers: answers[answer.Insights](), answer: insights},
	{Name: "rise", Text: "which call stacks account for 80 % of the change of live bytes over a range", Command: "rise",
		Parameters: with(filters, "by", "rough", "fold", "limit"), Answers: answers[answer.Rise](),
		preset: grouped(query.ByStack, 10), ask: rise},
	{Name: "generations", Text: "how much of what each part of a range allocated is live later: rows are births",
		Parameters: with(filters, "rows", "columns", "marks", "mark"), Command: "generations",
		Answers: answers[answer.Generations](),
		preset:  func(a *asked) { a.rows, a.columns = 20, 20 }, ask: generations},
	{Name: "blocks", Text: "the largest or the oldest blocks that are live at a moment; with block, what became of one",
		Parameters: with(filters, "at", "sort", "block", "address", "skip", "limit"), Command: "blocks",
		Answers: append(answers[answer.Blocks](), answers[answer.Biography]()...),
		preset:  func(a *asked) { a.Sort, a.Limit = query.Largest.String(), 20 }, ask: blocks},
	{Name: "compactness", Text: "how full the pages are on which blocks lie, and who keeps empty ones in use",
		Parameters: with(filters, "at", "steps", "skip", "limit"), Command: "compactness",
		Answers: answers[answer.Compactness](), preset: func(a *asked) { a.Limit = 10 }, ask: compactness},
	{Name: "frames", Text: "how full pages are on which blocks ever lay; with filters, what the selected blocks have " +
		"of each cell",
		Parameters: with(filters, "at", "frames", "color", "rough"), Command: "frames",
		Answers: answers[answer.HeapFilm](), preset: func(a *asked) { a.frames = 100 }, ask: frames},
	{Name: "events", Text: "the log: events from a moment or a number on, or before it; at most 1,000",
		Parameters: with(logFilters, "event", "at", "before", "kind", "limit"), Command: "dump",
		Answers: answers[answer.Log](), preset: func(a *asked) { a.Limit = 200 }, ask: events},
	{Name: "memory", Text: "of what the resident set consisted", Command: "memory", Parameters: []string{"at"},
		Answers: answers[answer.Memory](), answer: memory},
	{Name: "globals", Text: "the largest static and thread-local variables", Command: "globals",
		Parameters: with([]string{"module"}, paged...), Answers: answers[answer.Globals](),
		preset: func(a *asked) { a.Limit = 20 },
		answer: func(_ context.Context, c *call) (any, error) {
			if err := question.CheckPatterns("module", c.Modules); err != nil {
				return nil, err
			}
			return answer.NewGlobals(c.s, c.s.Globals(c.Modules), c.Page), nil
		}},
	{Name: "static", Text: "what has changed of static and thread-local variables since another recording (with)",
		Parameters: with([]string{"with", "module", "unchanged"}, paged...), Answers: answers[answer.StaticDiff](),
		Changing: true, preset: func(a *asked) { a.Limit = 20 }, answer: differStatic},
	{Name: "regions", Text: "what threads did in each region that the program has named", Command: "regions",
		Parameters: with(filters, "sort", "skip", "limit"), Answers: answers[answer.Regions](),
		preset: func(a *asked) { a.Sort = "begin" },
		ask: func(ctx context.Context, c *call, q *query.Query) (any, error) {
			if known := query.RegionOrders(); !slices.Contains(known, c.Sort) {
				return nil, question.UnknownWord("sort", c.Sort, known)
			}
			t, err := query.Regions(ctx, c.s, q)
			if err != nil {
				return nil, err
			}
			t.Sort(c.Sort)
			return answer.NewRegions(c.s, t, c.Page), nil
		}},
	{Name: "mismatches", Text: "blocks that were freed by the wrong function", Command: "mismatches",
		Parameters: paged, Answers: answers[answer.Mismatches](), preset: func(a *asked) { a.Limit = 20 },
		answer: func(_ context.Context, c *call) (any, error) {
			return answer.NewMismatches(c.s.Profile, c.Page), nil
		}},
	{Name: "replay", Text: "what heaptap replay --save has measured: the recorded calls with other allocators",
		Answers: answers[Replayed](), Changing: true, answer: replayed},
	{Name: "sql", Text: "what an SQL engine answers about the recording's tables; without sql: tables and questions",
		Parameters: with(filters, "sql", "limit"), Changing: true,
		Answers: append(answers[answer.SQLColumns](), answers[answer.SQLTables]()...), ask: inSQL},
	{Name: "files", Text: "the source files that the call stacks go through, with their numbers", Parameters: paged,
		Answers: answers[Files](),
		answer:  func(_ context.Context, c *call) (any, error) { return newFiles(c.rec.files(), c.Page), nil }},
	{Name: "source", Text: "the lines of a source file or a function with what they count, and the file's text",
		Parameters: with(filters, "metric", "at", "file", "function", "line", "context", "calls", "skip", "limit"),
		Command:    "source",
		Answers:    answers[SourceText](), ask: sourceText, Changing: true,
		preset: func(a *asked) {
			grouped(query.ByLine, 20, query.Peak, query.Allocations, query.Bytes, query.Leaked)(a)
			a.file = -1
		}},
}

func answers[T any]() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }

func with(some []string, more ...string) []string { return append(some[:len(some):len(some)], more...) }

// grouped presets the grouping, the limit and the metrics.
func grouped(by query.By, limit int, metrics ...query.Metric) func(a *asked) {
	return func(a *asked) {
		a.By, a.Limit, a.Metrics = by.String(), limit, question.MetricNames(metrics)
	}
}

// defaults are what is asked without parameters.
func (q *Question) defaults() *asked {
	a := &asked{Question: question.Question{From: "start", To: "end"}}
	if q.preset != nil {
		q.preset(a)
	}
	return a
}

// put puts the question to a recording.
func (q *Question) put(ctx context.Context, c *call) (any, error) {
	if c.Limit == 0 {
		c.Limit = maxRows
	}
	if q.answer != nil {
		return q.answer(ctx, c)
	}
	about, err := c.query()
	if err != nil {
		return nil, err
	}
	return q.ask(ctx, c, about)
}

// query makes the query.
func (c *call) query() (*query.Query, error) {
	asked := c.Question
	if c.fold {
		asked.Hide = append(slices.Clone(asked.Hide), c.rec.folded())
	}
	q, err := asked.Query(c.s)
	if err != nil {
		return nil, err
	}
	q.Progress = c.progress
	if q.Rough, err = c.roughly(); err != nil {
		return nil, err
	}
	return q, nil
}

// roughly is by how many ns the ends of the range may move.
func (c *call) roughly() (int64, error) {
	switch c.rough {
	case "":
		return 0, nil
	case "pixel":
		return c.s.Pixel(), nil
	}
	ns, err := humanize.ParseDuration(c.rough)
	if err != nil || ns > math.MaxInt64 {
		return 0, badParameter("rough", fmt.Sprintf("%q is not a duration", c.rough),
			"write pixel, or a time such as 10ms")
	}
	return int64(ns), nil
}

// sample is from what a rough answer may be estimated; nil: it may not.
func (c *call) sample() *query.Sample {
	if c.rough == "" {
		return nil
	}
	return cmp.Or(c.options.Sample, &query.QuickSample)
}

// matching returns what tells the functions that of is about; nil: it is about none.
func (c *call) matching() (func(g *query.Group) bool, error) {
	if c.of == "" {
		return nil, nil
	}
	match, err := question.Pattern(c.of)
	if err != nil {
		return nil, err
	}
	return func(g *query.Group) bool { return g.Function != "" && match.MatchString(g.Function) }, nil
}

func report(ctx context.Context, c *call) (any, error) {
	most := c.top
	if most == 0 {
		most = -1 // none
	}
	if c.filters == nil {
		var found []insight.Finding
		if most > 0 {
			var err error
			if found, err = insight.Find(ctx, c.s); err != nil {
				return nil, err
			}
		}
		return answer.NewReport(c.s.Profile, nil, most, found...), nil
	}
	about, err := c.query()
	if err != nil {
		return nil, err
	}
	n, err := query.Narrow(ctx, c.s, about)
	if err != nil {
		return nil, err
	}
	return answer.NewReport(n.Profile, &query.Selection{Asked: c.filters, Answer: &n.Answer}, most), nil
}

func top(ctx context.Context, c *call, q *query.Query) (any, error) {
	wanted, err := c.Sorting.Page(q)
	if err != nil {
		return nil, err
	}
	q.Estimate = c.sample()
	list, err := query.List(ctx, c.s, q)
	if err != nil {
		return nil, err
	}
	wanted.Offset, wanted.Limit = c.Skip, c.Limit
	page, err := list.Page(wanted)
	if err != nil {
		return nil, err
	}
	t := answer.NewTop(c.s, &page.Table, q.By, answer.Page{})
	t.More = max(0, page.Matching-c.Skip-len(page.Rows))
	return t, nil
}

// change compares what there was up to two moments, as heaptap diff compares RUN@..FROM with RUN@..TO.
func change(ctx context.Context, c *call, _ *query.Query) (any, error) {
	upTo := func(moment string) (diff.Side, error) {
		asked, of := *c.asked, *c
		asked.From, asked.To = "start", moment
		of.asked = &asked
		q, err := of.query()
		return diff.Side{Source: c.s, Query: q}, err
	}
	before, err := upTo(c.From)
	if err != nil {
		return nil, err
	}
	after, err := upTo(c.To)
	if err != nil {
		return nil, err
	}
	t, err := diff.Compare(ctx, diff.Between(before, after))
	if err != nil {
		return nil, err
	}
	return answer.NewDifference(c.s, t, after.Query.By, c.Page), nil
}

// mostRuns is how many recordings may be compared: they are all open at the same time.
const mostRuns = 8

// other has the call ask another recording, which the call that holds it releases; "": the same one.
func (c *call) other(ctx context.Context, id string, holder *call) error {
	if id == "" || id == c.rec.entry.id {
		return nil
	}
	e, err := c.shelf.find(ctx, id)
	if err != nil {
		return err
	}
	if c.rec, err = c.shelf.acquire(ctx, e); err != nil {
		return err
	}
	holder.held = append(holder.held, c.rec)
	c.s = c.rec.source
	return nil
}

// differStatic answers the question static.
func differStatic(ctx context.Context, c *call) (any, error) {
	if err := question.CheckPatterns("module", c.Modules); err != nil {
		return nil, err
	}
	before := *c
	if n := len(c.with); n > 0 {
		if err := before.other(ctx, c.with[n-1], c); err != nil {
			return nil, err
		}
	}
	found := diff.CompareStatic(before.s, c.s, c.Modules)
	return answer.NewStaticDiff(before.s, c.s, found, c.unchanged, c.Page), nil
}

// differ compares recordings, or ranges of one.
func differ(ctx context.Context, c *call, _ *query.Query) (any, error) {
	trim, err := c.Trim()
	if err != nil {
		return nil, err
	}
	if trim.Nodes == 0 {
		trim.Nodes = maxNodes
	}
	if len(c.with)+len(c.also) >= mostRuns {
		return nil, badParameter("with", fmt.Sprintf("so many recordings are more than the %d that can be compared",
			mostRuns), "name fewer in with and also")
	}
	x := &diff.Comparison{Scale: c.scale, All: c.unchanged, Up: c.up}
	side := func(id, from, to string) (s diff.Side, err error) {
		of := *c
		if err := of.other(ctx, id, c); err != nil {
			return s, err
		}
		asked := *c.asked
		asked.From, asked.To = from, to
		of.asked = &asked
		if c.tree && c.given["by"] == nil {
			asked.By = query.ByFunction.String()
		}
		s.Source = of.s
		s.Query, err = of.query()
		return s, err
	}
	others := c.with
	if len(others) == 0 {
		others = []string{""}
	}
	for _, id := range others {
		s, err := side(id, c.from2, c.to2)
		if err != nil {
			return nil, err
		}
		x.Before = append(x.Before, s)
	}
	for _, id := range append(slices.Clone(c.also), "") {
		s, err := side(id, c.From, c.To)
		if err != nil {
			return nil, err
		}
		x.After = append(x.After, s)
	}
	if c.tree {
		t, err := diff.CompareTrees(ctx, x, trim)
		if err != nil {
			return nil, err
		}
		return answer.NewComparedTree(x, t), nil
	}
	t, err := diff.Compare(ctx, x)
	if err != nil {
		return nil, err
	}
	return answer.NewCompared(x, t, c.Page), nil
}

func tree(ctx context.Context, c *call, q *query.Query) (any, error) {
	q.Estimate = c.sample()
	trim, err := c.Trim()
	if err != nil {
		return nil, err
	}
	if trim.Nodes == 0 {
		trim.Nodes = maxNodes
	}
	if c.of != "" {
		if c.up || c.Below != nil {
			return nil, badParameter("of", "of excludes up and below", "of shows callers and callees")
		}
		trim.Nodes /= 2 // on each side
		match, err := c.matching()
		if err != nil {
			return nil, err
		}
		t, err := query.DrawSandwich(ctx, c.s, q, match, trim)
		if err != nil {
			return nil, err
		}
		return answer.NewSandwich(c.s, t, q.By), nil
	}
	name, shape := "top-down", query.Down
	if c.up {
		name, shape = "bottom-up", query.Up
	}
	o, err := query.Draw(ctx, c.s, q, shape, trim)
	switch {
	case err != nil:
		return nil, err
	case c.Below != nil && o.Total.Values(0) == (query.Values{}):
		return nil, &Error{Status: 404, Code: "unknown-place", Where: "below",
			What: "nothing was counted below " + strings.Join(c.Below, " > "),
			Do:   "tree without below shows what the tree begins with"}
	}
	return answer.NewTree(c.s, o, q.By, name), nil
}

func timeline(ctx context.Context, c *call, q *query.Query) (any, error) {
	steps, groups := c.steps, max(c.top, 0)
	if steps == 0 {
		steps = 200
	}
	if c.stack && c.top < 0 {
		groups = 8
	}
	if most := 1_000_000; groups*steps > most {
		return nil, badParameter("steps", "so many steps of so many groups are more than an answer may have",
			"ask for fewer of either: at most a million together")
	}
	if c.stack {
		t, err := query.DevelopStacks(ctx, c.s, q, steps, groups)
		if err != nil {
			return nil, err
		}
		return answer.NewStackTimeline(c.s, t), nil
	}
	develop := query.Develop
	if c.steps == 0 {
		develop = query.DevelopRoughly
	}
	t, err := develop(ctx, c.s, q, steps, groups)
	if err != nil {
		return nil, err
	}
	return answer.NewTimeline(c.s, t), nil
}

func memory(_ context.Context, c *call) (any, error) {
	set := c.s.Profile.LargestResident()
	if set != nil && c.At != "" {
		time, err := question.Time(c.s, "at", c.At)
		if err != nil {
			return nil, err
		}
		set = c.s.Profile.ResidentAt(time)
	}
	return answer.NewMemory(c.s.Profile, set), nil
}

// sourceText answers with the lines of a file or a function. Files are named by number, so that a request cannot name a
// file that the recording does not.
func sourceText(ctx context.Context, c *call, q *query.Query) (any, error) {
	if c.options.NoSource {
		return nil, &Error{Status: 403, Code: "forbidden", What: "source files are not read here",
			Do: "start heaptap without --no-source"}
	}
	place := c.function
	files := c.rec.files()
	switch {
	case (c.file >= 0) == (place != ""):
		return nil, badParameter("file", "one of file and function is needed",
			"files lists the files with their numbers")
	case c.file >= len(files):
		return nil, &Error{Status: 404, Code: "unknown-file", What: "the recording has no source file of that number",
			Where: "file", Do: "files lists the files with their numbers"}
	case c.file >= 0:
		place = files[c.file]
	}
	// Where to look is the server's decision: a client could otherwise have any file read.
	finder := c.options.Source
	l, err := annotate.Ask(ctx, c.s, q, place, &finder, c.calls)
	var unknown *annotate.UnknownError
	switch {
	case errors.As(err, &unknown):
		return nil, &Error{Status: 404, Code: "unknown-place", What: err.Error(), Where: "function",
			Do: "top?by=function lists the functions"}
	case err != nil:
		return nil, err
	}
	if c.line > 0 {
		l.Line = uint32(c.line)
	}
	return newSourceText(c.s, l, c.Page, c.context), nil
}

package api

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/spelling"
)

// Bounds of answers.
const (
	maxRows  = 10_000
	maxNodes = 100_000
	maxText  = 4 << 20 // bytes of a source file
	maxQuery = 16 << 10
)

// asked is what a request asks, as text and numbers. Its zero value is not the default: see Question.ask.
type asked struct {
	question.Question
	answer.Page

	question.Trimming
	question.Sorting // sort is also of regions

	up, stack, runtime        bool
	before, marks             bool
	scale, unchanged, tree    bool
	with, also, mark          []string
	from2, to2                string
	timeline, fold, calls     bool
	of, function, rough       string
	block, address, sql       string
	top, steps, line, context int
	rows, columns, frames     int
	color                     string
	heat, kinds               []string
	event                     string
	file                      int // number of a source file; -1: none

	given url.Values // the parameters, in their canonical form
}

// Parameter is a parameter of questions. Its name and its values are those of the command line's flag.
type Parameter struct {
	Name  string
	Text  string   // what it does
	Kind  string   // of its values: text, regexp, integer, flag
	Many  bool     // it may be repeated
	Split bool     // its values may also be separated by commas
	Known []string // its values; nil: any
	Max   int      // of an integer; the least one is 0

	set func(a *asked, values []string) error
}

// Parameters are all parameters; questions refer to them by name.
var Parameters = []Parameter{
	text("from", "count events after this time: 1.5s, 10%, start, peak, end, or a mark's name",
		func(a *asked) *string { return &a.From }),
	text("to", "count events up to this time", func(a *asked) *string { return &a.To }),
	texts("with", "compare with these recordings, by id: several are runs of the same; default: the recording itself",
		func(a *asked) *[]string { return &a.with }),
	texts("also", "more runs beside the recording, by id", func(a *asked) *[]string { return &a.also }),
	text("from2", "of what it is compared with, count events after this time",
		func(a *asked) *string { return &a.from2 }),
	text("to2", "of what it is compared with, count events up to this time", func(a *asked) *string { return &a.to2 }),
	flag("scale", "multiply what was before, so that the totals are equal: changes of shares",
		func(a *asked) *bool { return &a.scale }),
	flag("unchanged", "show what has not changed, too", func(a *asked) *bool { return &a.unchanged }),
	flag("tree", "show a call tree instead of a table", func(a *asked) *bool { return &a.tree }),
	texts("thread", "count blocks that this thread allocated: its id, or its name with * and ?",
		func(a *asked) *[]string { return &a.Threads }),
	texts("freed-by", "count blocks that this thread freed: its id, or its name with * and ?",
		func(a *asked) *[]string { return &a.FreedBy }),
	texts("region", "count blocks allocated in regions of this name: load, load/7, load/*",
		func(a *asked) *[]string { return &a.Regions }),
	texts("module", "count call stacks with a frame in this file: libc, libc.so.6 or a path, with * and ?",
		func(a *asked) *[]string { return &a.Modules }),
	text("size", "count blocks whose requested bytes are in this range: 64, 100..4k, ..16, 1M..",
		func(a *asked) *string { return &a.Sizes }),
	text("old-size", "count blocks that realloc made of blocks whose requested bytes are in this range: 64, 100..4k",
		func(a *asked) *string { return &a.OldSizes }),
	text("lifetime", "count blocks whose lifetime is in this range: ..1ms, 10us..2s, 5s.., never (was not freed)",
		func(a *asked) *string { return &a.Lifetimes }),
	regexps("focus", "count call stacks with a frame whose function, file, module or place (a.c:31) matches; "+
		"repeated: with one for each", func(a *asked) *[]string { return &a.Focus }),
	regexps("ignore", "count no call stacks with a frame that matches",
		func(a *asked) *[]string { return &a.Ignore }),
	regexps("hide", "remove frames that match from the call stacks", func(a *asked) *[]string { return &a.Hide }),
	choice("by", "group by this", query.Groupings(), func(a *asked) *string { return &a.By }),
	choices("metric", "count these; the first one sorts", question.MetricNames(query.Metrics()),
		func(a *asked) *[]string { return &a.Metrics }),
	text("at", "the time for the metrics live, live-blocks, kept and kept-blocks, for memory, blocks, "+
		"compactness, frames (of which there is then one), and events",
		func(a *asked) *string { return &a.At }),
	text("sort", "sort a table by this metric, or by name; regions by begin, or by a column; blocks by "+
		strings.Join(query.BlockOrders(), ", "),
		func(a *asked) *string { return &a.Sort }),
	flag("self", "sort by self", func(a *asked) *bool { return &a.Self }),
	flag("reverse", "show the last rows first", func(a *asked) *bool { return &a.Reverse }),
	text("match", "show rows whose name contains this, in upper or lower case, or matches /REGEXP/",
		func(a *asked) *string { return &a.Match }),
	flag("up", "begin with the functions that allocate, and show their callers", func(a *asked) *bool { return &a.up }),
	pattern("of", "show the callers and the callees of functions that match", func(a *asked) *string { return &a.of }),
	text("threshold", "leave out functions with less than this share of the whole: 0.5%",
		func(a *asked) *string { return &a.Threshold }),
	number("depth", "show so many levels at most; 0: all", 1<<20, func(a *asked) *int { return &a.Depth }),
	number("nodes", "show only so many nodes, those that count most; 0: as many as an answer may have, 100,000",
		maxNodes, func(a *asked) *int { return &a.Nodes }),
	path("below", "show the tree below this function, with shares of it; repeated: below a path",
		func(a *asked) *[]string { return &a.Below }),
	number("top", "show so many groups or call stacks", 1000, func(a *asked) *int { return &a.top }),
	number("steps", "divide the time into so many steps; 0: about 200; of compactness: none", maxRows,
		func(a *asked) *int { return &a.steps }),
	choices("heat", "add these heat maps: sizes by time, lifetimes by size, reallocations by size before and after",
		query.HeatKinds, func(a *asked) *[]string { return &a.heat }),
	number("rows", "divide the range into so many intervals", query.MostGenerations,
		func(a *asked) *int { return &a.rows }),
	number("columns", "show so many moments", query.MostGenerations, func(a *asked) *int { return &a.columns }),
	number("frames", "show so many moments, at equal distances in time", query.MostHeapMoments,
		func(a *asked) *int { return &a.frames }),
	choice("color", "colour pages by this", query.HeapColors(), func(a *asked) *string { return &a.color }),
	flag("marks", "let the rows be the spans between marks, whatever rows says, and list what each left behind",
		func(a *asked) *bool { return &a.marks }),
	texts("mark", "as marks, but only marks of this name count, with * and ?",
		func(a *asked) *[]string { return &a.mark }),
	text("block", "the number of the allocation of a block", func(a *asked) *string { return &a.block }),
	text("event", "the number of an event: the log from it on", func(a *asked) *string { return &a.event }),
	flag("before", "show what is before the event or the moment, instead of what is from it on",
		func(a *asked) *bool { return &a.before }),
	choices("kind", "show only events of these kinds", query.KindNames(),
		func(a *asked) *[]string { return &a.kinds }),
	text("address", "show the block that holds this address: 0x7f00c0de; or those of a range: 0x7f0000..0x7f0fff",
		func(a *asked) *string { return &a.address }),
	text("sql", "a question to the tables stacks, frames, events and timeline: one SELECT",
		func(a *asked) *string { return &a.sql }),
	text("rough", "the ends of the range may move by so much time (10ms), or by a pixel, a thousandth of the run; "+
		"sums that would need all events of a large recording may be estimates",
		func(a *asked) *string { return &a.rough }),
	flag("fold", "remove the frames that texts fold, of wrappers and libraries: what they allocate is their callers'",
		func(a *asked) *bool { return &a.fold }),
	flag("stack", "show the memory of the threads' stacks", func(a *asked) *bool { return &a.stack }),
	flag("timeline", "show how the memory of each program developed, in up to 64 steps",
		func(a *asked) *bool { return &a.timeline }),
	flag("runtime", "show what the runtime keeps for itself, too", func(a *asked) *bool { return &a.runtime }),
	number("file", "the number of a source file, as the question files lists it", 1<<31-1,
		func(a *asked) *int { return &a.file }),
	text("function", "a function, with or without its parameters and scopes; or a source file of the recording",
		func(a *asked) *string { return &a.function }),
	number("line", "only this line; 0: all", 1<<31-1, func(a *asked) *int { return &a.line }),
	number("context", "of the text, only so many lines before and after the line; 0: the whole text", maxRows,
		func(a *asked) *int { return &a.context }),
	flag("calls", "show what is called from each line", func(a *asked) *bool { return &a.calls }),
	number("skip", "leave out the first rows", 1<<31-1, func(a *asked) *int { return &a.Skip }),
	number("limit", "show so many rows at most; 0: as many as an answer may have, 10,000", maxRows,
		func(a *asked) *int { return &a.Limit }),
}

// filters are the parameters that say what counts, in the order in which a report lists them.
var filters = append(slices.Clone(logFilters), "hide")

// logFilters are those of the log, which shows whole call stacks: no frames are hidden.
var logFilters = []string{"from", "to", "thread", "freed-by", "region", "module", "size", "old-size", "lifetime",
	"focus", "ignore"}

func text(name, what string, at func(*asked) *string) Parameter {
	return Parameter{Name: name, Text: what, Kind: "text", set: func(a *asked, v []string) error {
		*at(a) = v[0]
		return nil
	}}
}

func choice(name, what string, known []string, at func(*asked) *string) Parameter {
	p := text(name, what, at)
	p.Known = known
	return p
}

func pattern(name, what string, at func(*asked) *string) Parameter {
	return Parameter{Name: name, Text: what, Kind: "regexp", set: func(a *asked, v []string) error {
		*at(a) = v[0]
		return checkPattern(name, v[0])
	}}
}

func regexps(name, what string, at func(*asked) *[]string) Parameter {
	return Parameter{Name: name, Text: what, Kind: "regexp", Many: true, set: func(a *asked, v []string) error {
		*at(a) = v
		for _, text := range v {
			if err := checkPattern(name, text); err != nil {
				return err
			}
		}
		return nil
	}}
}

func texts(name, what string, at func(*asked) *[]string) Parameter {
	p := path(name, what, at)
	p.Split = true
	return p
}

func path(name, what string, at func(*asked) *[]string) Parameter {
	return Parameter{Name: name, Text: what, Kind: "text", Many: true, set: func(a *asked, v []string) error {
		*at(a) = v
		return nil
	}}
}

func choices(name, what string, known []string, at func(*asked) *[]string) Parameter {
	p := texts(name, what, at)
	p.Known = known
	return p
}

func flag(name, what string, at func(*asked) *bool) Parameter {
	return Parameter{Name: name, Text: what, Kind: "flag", Known: []string{"true", "false"},
		set: func(a *asked, v []string) (err error) {
			*at(a), err = strconv.ParseBool(v[0])
			return err
		}}
}

func number(name, what string, most int, at func(*asked) *int) Parameter {
	return Parameter{Name: name, Text: what, Kind: "integer", Max: most, set: func(a *asked, v []string) (err error) {
		n, err := strconv.ParseUint(v[0], 10, 32)
		if err != nil || n > uint64(most) {
			return badParameter(name, fmt.Sprintf("%q is not a number from 0 to %d", v[0], most), "")
		}
		*at(a) = int(n)
		return nil
	}}
}

// checkPattern finds where a regular expression is wrong.
func checkPattern(name, text string) error {
	_, err := syntax.Parse(text, syntax.Perl)
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return err
	}
	e := badParameter(name, fmt.Sprintf("%q is not a regular expression: %s at %q", text, wrong.Code, wrong.Expr),
		"write a regular expression as Go's package regexp reads it; \\ before a character takes it literally")
	at := max(0, strings.Index(text, wrong.Expr))
	e.Position = &at
	return e
}

// read reads the parameters of a question into what is asked, and returns them in their canonical form: sorted, without
// those that have no values.
func (q *Question) read(query string) (*asked, string, error) {
	if len(query) > maxQuery {
		return nil, "", badParameter("", fmt.Sprintf("the query is longer than %d bytes", maxQuery),
			"write a shorter one")
	}
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, "", badParameter("", fmt.Sprintf("the query cannot be read: %v", err),
			"escape the values of parameters")
	}
	a := q.defaults()
	canonical := url.Values{}
	for _, name := range sortedKeys(given) {
		p := q.Parameter(name)
		if p == nil {
			names := q.Parameters
			return nil, "", badParameter(name, fmt.Sprintf("%s has no parameter %q%s", q.Name, name,
				spelling.DidYouMean(name, names)), "known are "+strings.Join(names, ", "))
		}
		values, err := p.values(given[name])
		if err != nil {
			return nil, "", err
		}
		if values == nil {
			continue
		}
		if err := p.set(a, values); err != nil {
			return nil, "", err
		}
		canonical[name] = values
	}
	a.given = canonical
	return a, canonical.Encode(), nil
}

// Parameter returns a parameter of the question; nil: it has none of that name.
func (q *Question) Parameter(name string) *Parameter {
	if !slices.Contains(q.Parameters, name) {
		return nil
	}
	return &Parameters[slices.IndexFunc(Parameters, func(p Parameter) bool { return p.Name == name })]
}

// values checks the values that a parameter was given. It returns nil if there are none: as if it was not given.
func (p *Parameter) values(given []string) (list []string, err error) {
	if !p.Many && len(given) > 1 {
		return nil, badParameter(p.Name, "it was given more than once", "give it once")
	}
	for _, text := range given {
		switch {
		case text == "" && p.Kind == "flag":
			list = append(list, "true")
		case text == "":
		case p.Split: // as flags are read
			values, err := csv.NewReader(strings.NewReader(text)).Read()
			if err != nil {
				return nil, badParameter(p.Name, fmt.Sprintf("%q is not a list of values with commas", text), "")
			}
			list = append(list, values...)
		default:
			list = append(list, text)
		}
	}
	for _, v := range list {
		if p.Known != nil && !slices.Contains(p.Known, v) {
			return nil, badParameter(p.Name, fmt.Sprintf("%q is unknown%s", v, spelling.DidYouMean(v, p.Known)),
				"known are "+strings.Join(p.Known, ", "))
		}
	}
	return list, nil
}

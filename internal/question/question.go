// Package question turns what a user wrote into a query: filters, groupings and metrics.
package question

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/glob"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spelling"
	"github.com/heaptap/heaptap/internal/timeref"
)

// Question is a question about a recording, as text. The zero value of each field except From and To restricts nothing.
type Question struct {
	From, To         string // moments: "start" and "end" are the whole
	Threads, FreedBy []string
	Regions, Modules []string
	Sizes, OldSizes  string // this and the next one are ranges
	Lifetimes        string
	Focus            []string // this and the next two are regular expressions
	Ignore, Hide     []string
	By, At           string
	Metrics          []string
}

// Error is the error of a text that cannot be read. It names the text as --NAME.
type Error struct{ error }

func (e *Error) Unwrap() error { return e.error }

func wrong(name string, err error) error { return &Error{fmt.Errorf("--%s: %w", name, err)} }

// UnknownWord returns the error of a text that is not one of the known words.
func UnknownWord(name, word string, known []string) error {
	return &Error{fmt.Errorf("--%s %s: known are %s%s", name, word, strings.Join(known, ", "),
		spelling.DidYouMean(word, known))}
}

// Query makes the query about a recording.
func (q *Question) Query(s *query.Source) (*query.Query, error) {
	out := &query.Query{Regions: q.Regions, Modules: q.Modules}
	if err := q.times(s, out); err != nil {
		return nil, err
	}
	var err error
	if out.Threads, err = findThreads(s, q.Threads); err != nil {
		return nil, wrong("thread", err)
	}
	if out.FreedBy, err = findThreads(s, q.FreedBy); err != nil {
		return nil, wrong("freed-by", err)
	}
	if err := s.CheckRegions(q.Regions); err != nil {
		return nil, wrong("region", err)
	}
	if err := CheckPatterns("module", q.Modules); err != nil {
		return nil, err
	}
	if out.Sizes, err = ParseRange(q.Sizes, ParseSize); err != nil {
		return nil, wrong("size", err)
	}
	if out.OldSizes, err = ParseRange(q.OldSizes, ParseSize); err != nil {
		return nil, wrong("old-size", err)
	}
	if out.Lifetimes, err = ParseLifetimes(q.Lifetimes); err != nil {
		return nil, wrong("lifetime", err)
	}
	if out.Focus, err = compile("focus", q.Focus); err != nil {
		return nil, err
	}
	if out.Ignore, err = compile("ignore", q.Ignore); err != nil {
		return nil, err
	}
	hidden, err := compile("hide", q.Hide)
	if err != nil {
		return nil, err
	}
	if len(hidden) > 0 {
		if out.Hide, err = Pattern(Either(q.Hide...)); err != nil {
			return nil, wrong("hide", err)
		}
	}
	return out, q.shape(out)
}

// times reads the moments.
func (q *Question) times(s *query.Source, out *query.Query) (err error) {
	if q.From != "start" || q.To != "end" {
		out.Range = &query.Range{}
		if out.Range.From, err = within(s, "from", q.From); err != nil {
			return err
		}
		if out.Range.To, err = Cut(s.Reader, "to", q.To); err != nil {
			return err
		}
		if out.Range.From > out.Range.To {
			return &Error{fmt.Errorf("--from %s is later than --to %s", q.From, q.To)}
		}
	}
	if q.At != "" {
		at, err := within(s, "at", q.At)
		if err != nil {
			return err
		}
		out.At = &at
	}
	return nil
}

// shape reads the grouping and the metrics.
func (q *Question) shape(out *query.Query) error {
	if q.By != "" {
		by, ok := query.ParseBy(q.By)
		if !ok {
			return UnknownWord("by", q.By, query.Groupings())
		}
		out.By = by
	}
	for _, name := range q.Metrics {
		m, ok := query.ParseMetric(name)
		switch {
		case name == "rss":
			return wrong("metric", errors.New("the resident set is the process's, not a call stack's: heaptap "+
				"timeline draws it, heaptap memory says what it consists of, and mapped-resident is what of it was "+
				"mapped"))
		case !ok:
			return UnknownWord("metric", name, MetricNames(query.Metrics()))
		}
		out.Metrics = append(out.Metrics, m)
		if m.OfMappings() && !out.MappingsKnown() {
			return wrong("metric", fmt.Errorf("%s is known of whole recordings, by call stack: it does not go with "+
				"--from, --to, --thread, --freed-by, --region, --size, --old-size, --lifetime, or --by thread, size, "+
				"allocator and region", m))
		}
	}
	return nil
}

// MetricNames returns the names of metrics.
func MetricNames(list []query.Metric) []string {
	names := []string{}
	for _, m := range list {
		names = append(names, m.String())
	}
	return names
}

// Cut finds the cut at a moment of a recording. An error names the moment.
func Cut(r *recording.Reader, name, text string) (uint64, error) {
	return find(name, text, func(m timeref.Moment) (uint64, error) { return m.Cut(r) })
}

// Beyond says that --to is a time beyond the recording's end; "" if it is not.
func (q *Question) Beyond(s *query.Source) string {
	if m, err := timeref.Parse(q.To); err == nil && m.After(time.Duration(s.Profile.Duration)) {
		return beyond("to", q.To, s)
	}
	return ""
}

func beyond(name, text string, s *query.Source) string {
	return fmt.Sprintf("--%s %s is beyond the end: the recording ends after %s", name, text,
		humanize.Duration(s.Profile.Duration))
}

// within is Cut for a moment at which there must be something: a time beyond the end is an error.
func within(s *query.Source, name, text string) (uint64, error) {
	if err := notBeyond(s, name, text); err != nil {
		return 0, err
	}
	return Cut(s.Reader, name, text)
}

func notBeyond(s *query.Source, name, text string) error {
	if m, err := timeref.Parse(text); err == nil && s.Profile.Merged == nil &&
		m.After(time.Duration(s.Profile.Duration)) {
		return &Error{errors.New(beyond(name, text, s))}
	}
	return nil
}

// Time finds the time of a moment of a recording, in nanoseconds since its start. An error names the moment; a time
// beyond the end is one.
func Time(s *query.Source, name, text string) (int64, error) {
	if err := notBeyond(s, name, text); err != nil {
		return 0, err
	}
	return find(name, text, func(m timeref.Moment) (int64, error) { return m.Time(s.Reader) })
}

// find finds the place of a moment. An error names the moment.
func find[T any](name, text string, place func(m timeref.Moment) (T, error)) (at T, err error) {
	m, err := timeref.Parse(text)
	if err != nil {
		return at, wrong(name, err)
	}
	at, err = place(m)
	var unknown *timeref.UnknownMark
	if errors.As(err, &unknown) {
		err = wrong(name, err)
	}
	return at, err
}

// CheckPatterns checks that texts are patterns with * and ?.
func CheckPatterns(name string, patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return wrong(name, fmt.Errorf("%q is not a pattern", p))
		}
	}
	return nil
}

// CheckMarks checks that each of these patterns with * and ? matches the name of a mark.
func CheckMarks(s *query.Source, name string, patterns []string) error {
	for _, p := range patterns {
		if !slices.ContainsFunc(s.Reader.Marks(), func(m event.Mark) bool { return glob.Match(p, m.Name) }) {
			return wrong(name, fmt.Errorf("no mark has the name %q", p))
		}
	}
	return nil
}

// findThreads returns the indexes of threads by id or name; nil if there are no words.
func findThreads(s *query.Source, wanted []string) ([]uint32, error) {
	if wanted == nil {
		return nil, nil
	}
	list := []uint32{}
	for _, w := range wanted {
		found := false
		for i, t := range s.Reader.Threads() {
			match, err := path.Match(w, t.Name)
			if err != nil {
				return nil, fmt.Errorf("%q is not a pattern", w)
			}
			if match || t.Name == w || strconv.FormatUint(uint64(t.TID), 10) == w {
				list, found = append(list, uint32(i)), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no thread has the name or the id %q", w)
		}
	}
	return list, nil
}

// ParseSize reads a number of bytes, for ParseRange.
func ParseSize(text string) (uint64, error) {
	n, err := humanize.ParseSize(text)
	return uint64(n), err
}

// ParseLifetimes reads a range of lifetimes; never: of the blocks that were never freed.
func ParseLifetimes(text string) (*query.Interval, error) {
	if text == "never" {
		return &query.Interval{Min: query.Unbounded, Max: query.Unbounded}, nil
	}
	return ParseRange(text, humanize.ParseDuration)
}

// ParseRange reads a number, or two separated by .., each of which may be omitted. It returns nil for "".
func ParseRange(text string, number func(string) (uint64, error)) (*query.Interval, error) {
	if text == "" {
		return nil, nil
	}
	out := &query.Interval{Max: query.Unbounded}
	low, high, two := strings.Cut(text, "..")
	if !two {
		high = low
	}
	var err error
	if low != "" {
		if out.Min, err = number(low); err != nil {
			return nil, err
		}
	}
	if high != "" {
		if out.Max, err = number(high); err != nil {
			return nil, err
		}
	}
	if out.Min > out.Max {
		return nil, fmt.Errorf("%q: the lower bound is above the upper one", text)
	}
	return out, nil
}

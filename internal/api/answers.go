package api

import (
	"cmp"
	"slices"

	"github.com/heaptap/heaptap/internal/annotate"
	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// Session is what a server serves.
type Session struct {
	Version  string       `json:"version"` // of heaptap
	ReadOnly bool         `json:"read_only"`
	NoSource bool         `json:"no_source"`
	Runs     []SessionRun `json:"runs"`

	// Unreadable is what was named and cannot be read.
	Unreadable []Unreadable `json:"unreadable"`
}

// Unreadable is what the user has named and cannot be read.
type Unreadable struct {
	Argument string `json:"argument"`
	What     string `json:"what"` // is wrong, and where
	Do       string `json:"do"`   // what to do
}

// SessionRun is a run with its programs and their recordings.
type SessionRun struct {
	answer.Run
	Recordings []SessionRecording `json:"recordings"` // of the programs, in their order
	Matters    string             `json:"matters"`    // the id of the recording that the user means; "": not known
	Why        string             `json:"why"`        // it is that one
}

// SessionRecording is the recording of a program.
type SessionRecording struct {
	ID         string `json:"id"`
	Generation uint64 `json:"generation"` // grows when the recording has grown
	About      *About `json:"about"`      // null until it was asked something; the question about answers it of each
}

// About says what a recording can answer.
type About struct {
	Recording answer.Recording `json:"recording"`
	Growing   bool             `json:"growing"`
	Events    uint64           `json:"events"`
	Stacks    int              `json:"stacks"`
	EndNS     int64            `json:"end_ns"`
	Processes int              `json:"processes"` // that are summed up in a merged recording; 0: it is of one
	FromNS    int64            `json:"from_ns"`   // questions about events are answered from here on
	Addresses bool             `json:"addresses"`
	FreeStack bool             `json:"free_stacks"`
	Sampled   bool             `json:"sampled"`
	Folded    bool             `json:"folded"`
	Merged    bool             `json:"merged"`
	Lacks     []Lack           `json:"lacks"`
}

// Lack is something that a recording cannot answer.
type Lack struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Flag string `json:"flag"` // of heaptap run that provides it; "": none
}

// newAbout describes a recording.
func newAbout(s *query.Source) *About {
	p, r := s.Profile, s.Reader
	a := &About{Recording: answer.NewRecording(p), Growing: r.Live(), Events: p.Totals.Events, Stacks: len(p.Stacks),
		EndNS: p.Duration, Sampled: p.Sampled(), Merged: p.Merged != nil, Lacks: []Lack{}}
	if p.Merged != nil {
		a.Processes = len(p.Merged.Inputs)
	}
	if f := r.Folded(); f.Cut > 0 {
		a.Folded, a.FromNS = true, f.Time
	}
	blocks := r.EventBlocks()
	if n := blocks.Len(); n > 0 {
		a.Addresses = blocks.Head(n - 1).HasAddresses()
		a.FreeStack = hasFreeStacks(blocks)
	}
	lack := func(what, why, flag string) { a.Lacks = append(a.Lacks, Lack{what, why, flag}) }
	switch {
	case p.OnlyCounted():
		lack("call stacks and events", "calls were only counted", "--mode exact")
	case a.Merged:
		lack("events", "the recording has the sums of several: ask these about ranges of time, threads, sizes and "+
			"lifetimes", "")
	}
	if a.Sampled {
		lack("exact numbers", "allocations were sampled: numbers are estimates", "--mode exact")
		lack("temporary allocations, time between allocations, copied bytes", "samples do not follow each other",
			"--mode exact")
	}
	if a.Folded {
		lack("single events before the time from_ns", "they were folded into sums to save disk", "--keep, --max-size")
	}
	if !a.Merged && !a.Addresses {
		lack("addresses of blocks", "they were not recorded", "--addresses")
	}
	if !a.Merged && !a.FreeStack {
		lack("call stacks of deallocations", "they were not recorded", "--free-stacks")
	}
	if len(p.ResidentSets) == 0 {
		lack("what the resident set consisted of", "it was never read: the process ran too briefly, or the recording "+
			"was made from another tool's file", "")
	}
	return a
}

// hasFreeStacks reports whether one of the last events has the call stack of a deallocation.
func hasFreeStacks(blocks *recording.EventBlocks) (found bool) {
	const most = 1 << 14
	last := blocks.Len() - 1
	first := blocks.Head(last).FirstEvent + blocks.Head(last).Events
	first -= min(first, most)
	_ = blocks.Decode(last, 0, func(n, _ uint64, e *event.Event) bool { // what is damaged has none
		found = found || n >= first && e.FreeStack != 0
		return !found
	})
	return found
}

// Progress is how far an answer is, in the lines of a stream before the last one.
type Progress struct {
	Share *float64 `json:"share"` // from 0 to 1; null: not known
	Doing string   `json:"doing"`
}

// Files are the source files of a recording.
type Files struct {
	Files []string `json:"files"` // the number of a file is its index, plus first
	First int      `json:"first"`
	More  int      `json:"more"`
}

func newFiles(all []string, page answer.Page) *Files {
	list, more := answer.Cut(page, all)
	return &Files{append([]string{}, list...), min(page.Skip, len(all)), more}
}

// filesOf returns the source files of a recording in the order of their names.
func filesOf(s *query.Source) []string {
	seen := map[string]bool{}
	list := []string{}
	for _, p := range s.Places() {
		if p.File != "" && !seen[p.File] {
			seen[p.File] = true
			list = append(list, p.File)
		}
	}
	slices.SortFunc(list, cmp.Compare)
	return list
}

// SourceText is the lines of files or functions with what they count, and the text of the first of these files.
type SourceText struct {
	answer.Source
	Text  []string            `json:"text"`  // its lines; null: not found
	First int                 `json:"first"` // the number of the first of them
	Cut   bool                `json:"cut"`   // the file is longer
	Calls []answer.SourceCall `json:"calls"` // if they were asked; those that count most come first
}

// newSourceText makes the answer. Of the text, it has so many lines around the one asked for; 0: all.
func newSourceText(s *query.Source, l *annotate.Tables, page answer.Page, context int) *SourceText {
	t := &SourceText{Source: *answer.NewSource(s, l, page), First: 1,
		Calls: answer.NewSourceCalls(l, maxRows)}
	rows, _ := answer.Cut(page, l.Wholes.Rows)
	if len(rows) == 0 {
		return t
	}
	file := l.Pages(rows[:1])[0].File
	if file == nil {
		return t
	}
	lines := file.Lines
	if context > 0 && l.Line > 0 {
		lines, t.First = around(lines, l.Line, context)
	}
	t.Text = []string{}
	bytes := 0
	for _, line := range lines {
		if bytes += len(line) + 1; bytes > maxText {
			t.Cut = true
			break
		}
		t.Text = append(t.Text, line)
	}
	return t
}

// around returns so many lines before and after one, and the number of the first of them.
func around(lines []string, line uint32, context int) (part []string, first int) {
	at := int(min(uint64(line), uint64(len(lines))))
	first = max(1, at-context)
	return lines[first-1 : min(len(lines), at+context)], first
}

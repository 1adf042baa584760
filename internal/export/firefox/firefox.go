// Package firefox writes profiles for the Firefox Profiler, in its processed format.
//
// The profiler reads every older version of that format and upgrades it. This package writes version 48, as many tools
// do, not the latest. A process is one thread. Its table of native allocations has two rows for each freed block, +size
// and -size, and one row for each block that was not freed. A number that both rows share replaces the address. So the
// profiler's view of retained memory adds up. All rows, deallocations too, have the call stack of the allocation.
//
// With a row for every block, a file would grow with the run. So time is divided into steps: the blocks that one thread
// allocated at one call stack in one step, and that ended in one step, are merged into one block, which begins and ends
// with these steps. The variant "blocks" has a row for every event.
package firefox

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is the profile.
var Format = export.Format{
	Name:      "firefox",
	Tool:      "profiler.firefox.com",
	Extension: ".firefox.json",
	Keeps: "allocated, freed and retained bytes by call stack over time, exact in sum, with modules, inlined " +
		"functions, files and lines; live bytes over time; the peak, the end and marks as markers",
	Loses: "numbers of blocks, and blocks of 0 bytes; moments within a step, a 500th of the time (except with " +
		"firefox:blocks); the callers of free; other metrics",
	Variants: []export.Variant{
		{Name: inSteps, Text: "merges the blocks of a call stack and a step"},
		{Name: byBlock, Text: "every block separately: the file grows with the run"},
	},
	Write: write,
}

const (
	inSteps = "steps"
	byBlock = "blocks"
	version = 48  // of the processed format
	gecko   = 28  // version of Firefox's own format at that time
	steps   = 500 // into which time is divided for allocations
	points  = 1000
)

func write(ctx context.Context, w io.Writer, in *export.Input) error {
	sums, err := in.Stacks(ctx, query.Bytes, query.FreedBytes, query.Peak)
	if err != nil {
		return err
	}
	t := newTables(in)
	for i := range sums.Rows {
		t.stack(sums.Rows[i].Stack)
	}
	each, err := rowsOf(ctx, in, sums)
	if err != nil {
		return err
	}
	counter, err := memoryCounter(ctx, in, &sums.Answer)
	if err != nil {
		return err
	}
	o := &output{w: w}
	o.text(`{"meta":`)
	o.json(metaOf(in))
	o.text(`,"libs":`)
	o.json(t.libs)
	o.text(`,"pages":[],"counters":[`)
	o.json(counter)
	o.text(`],"profilerOverhead":[],"threads":[`)
	o.jsonOpen(threadOf(in, t, &sums.Answer)) // its closing brace comes after the allocations
	o.text(`,"nativeAllocations":`)
	if err := o.allocations(each, t); err != nil {
		return err
	}
	o.text("}]}\n")
	return o.err
}

// milliseconds is a time in ns that is written as ms, the format's unit.
type milliseconds int64

// MarshalJSON writes nanoseconds as milliseconds, exactly.
func (m milliseconds) MarshalJSON() ([]byte, error) { return appendTime(nil, int64(m)), nil }

func appendTime(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1e6, 10)
	rest := ns % 1e6
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for digit := int64(1e5); rest > 0; digit /= 10 {
		b = append(b, '0'+byte(rest/digit))
		rest %= digit
	}
	return b
}

// meta is the format's ProfileMeta.
type meta struct {
	Interval        int            `json:"interval"`
	StartTime       milliseconds   `json:"startTime"` // since 1970
	ABI             string         `json:"abi"`
	Misc            string         `json:"misc"`
	OSCPU           string         `json:"oscpu"`
	Platform        string         `json:"platform"`
	ProcessType     int            `json:"processType"`
	Extensions      extensions     `json:"extensions"`
	Categories      []category     `json:"categories"`
	Product         string         `json:"product"`
	Stackwalk       int            `json:"stackwalk"`
	Toolkit         string         `json:"toolkit"`
	Version         int            `json:"version"`
	Processed       int            `json:"preprocessedProfileVersion"`
	AppBuildID      string         `json:"appBuildID"`
	SourceURL       string         `json:"sourceURL"`
	Symbolicated    bool           `json:"symbolicated"` // the profiler need not look for symbols
	MarkerSchema    []markerSchema `json:"markerSchema"`
	ImportedFrom    string         `json:"importedFrom"`
	Arguments       string         `json:"arguments"`
	VisibleThreads  []int          `json:"initialVisibleThreads"`
	SelectedThreads []int          `json:"initialSelectedThreads"`
}

type extensions struct {
	BaseURL []string `json:"baseURL"`
	ID      []string `json:"id"`
	Name    []string `json:"name"`
	Length  int      `json:"length"`
}

type category struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

// Categories of frames, as indexes into categories.
const (
	other = iota
	program
	library
	runtime
)

var categories = []category{
	other:   {"Other", "grey", []string{"Other"}},
	program: {"Program", "blue", []string{"Other"}},
	library: {"Libraries", "green", []string{"Other"}},
	runtime: {"Runtime", "orange", []string{"Other"}},
}

func metaOf(in *export.Input) *meta {
	p := in.Reader.Process()
	return &meta{
		Interval: 1, StartTime: milliseconds(max(p.Started, 0)), OSCPU: "Linux " + p.Arch, Platform: "Linux",
		Categories: categories, Extensions: extensions{[]string{}, []string{}, []string{}, 0}, Product: in.Title(),
		Stackwalk: 1, Version: gecko, Processed: version,
		Symbolicated: true, MarkerSchema: schemas, ImportedFrom: "heaptap", Arguments: strings.Join(p.Args, " "),
		VisibleThreads: []int{0}, SelectedThreads: []int{0},
	}
}

// output writes JSON piece by piece and keeps the first error.
type output struct {
	w   io.Writer
	err error
}

func (o *output) bytes(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

func (o *output) text(s string) { o.bytes([]byte(s)) }

func (o *output) json(v any) { o.bytes(o.encode(v)) }

// jsonOpen writes an object without its closing brace.
func (o *output) jsonOpen(v any) {
	if b := o.encode(v); len(b) > 0 {
		o.bytes(b[:len(b)-1])
	}
}

func (o *output) encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // names of templates are full of < and >
	if err := e.Encode(v); err != nil && o.err == nil {
		o.err = err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

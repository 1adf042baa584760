package export

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is a file format of another tool.
type Format struct {
	Name      string // as -f spells it
	Tool      string // what reads it
	Extension string // of the file's name, with its dot
	Binary    bool   // not to be written to a terminal
	Keeps     string // what of a recording the file has, as a list in words
	Loses     string // what it does not have
	In        string // what heaptap import reads from such files; "": nothing
	// Variants of the format: -f NAME means the first, -f NAME:VARIANT the others. nil: it has none.
	Variants []Variant
	// Metrics are the default of --metric. nil: the format fixes what it writes, and --metric is refused.
	Metrics []query.Metric
	One     bool // a file holds only one metric
	AnyKind bool // also allows quotients and metrics that do not sum up
	// By are the allowed groupings; the first is the default. nil: --by is refused.
	By []query.By
	// Write writes the format. w is buffered: Write may ignore errors of w until the end.
	Write func(ctx context.Context, w io.Writer, in *Input) error
}

// GroupingsOfStacks are the values of Format.By for formats that have whole call stacks.
var GroupingsOfStacks = []query.By{query.ByStack, query.ByThread, query.BySizeClass, query.ByAllocation, query.ByRegion}

// GroupingsOfTrees are the values of Format.By for formats that have trees of frames. Groups of blocks are above the
// frames.
var GroupingsOfTrees = []query.By{query.ByFunction, query.ByLine, query.ByAddress, query.ByFile, query.ByModule,
	query.ByThread, query.BySizeClass, query.ByAllocation, query.ByRegion, query.ByRegionName}

// Variant is one of several variants of a format.
type Variant struct {
	Name      string
	Text      string // what it is
	Extension string // "": the format's
	Fixed     bool   // its content is fixed: --metric and --by are refused
}

// Input is an open recording and a question about it.
type Input struct {
	*query.Source
	// Query is the question. The format allows its Metrics and By.
	Query query.Query
	// Name is the recording's, without folder and extension.
	Name string
	// Asked are the range, moment and filters, as on the command line.
	Asked []string
	// Variant is the format's; "" if it has none.
	Variant string
	// Period is the time that the file claims to cover, in formats that say so; nil: the time of the question's range.
	Period *Period
	// Labels describe the process further, in formats that have labels.
	Labels []Label
	// Missing, if not nil, is called with a description of what could not be read.
	Missing func(text string)

	// Cut, if not nil, is called when a call stack is too deep and is cut.
	Cut func()

	frames map[uint32][]profile.Frame // see Frames
}

// Period is a span of time: Begin is in ns since the recording's start, Span in ns. A moment has Span 0.
type Period struct{ Begin, Span int64 }

// Label is a fact about a process that the user supplies, with a name.
type Label struct{ Name, Value string }

// PeriodOf returns the time that an answer covers, or in.Period if that is set.
func (in *Input) PeriodOf(a *query.Answer) Period {
	if in.Period != nil {
		return *in.Period
	}
	return Period{a.Begin, a.Span}
}

// Stacks answers the question by call stack, with these metrics; if there are none, with the question's.
func (in *Input) Stacks(ctx context.Context, metrics ...query.Metric) (*query.StackTable, error) {
	q := in.Query
	if metrics != nil {
		q.Metrics = metrics
	}
	t, err := query.Stacks(ctx, in.Source, &q)
	if err == nil {
		in.missing(&t.Answer)
	}
	return t, err
}

// TopDown answers the question with the tree from main to the allocating functions.
func (in *Input) TopDown(ctx context.Context, metrics ...query.Metric) (*query.Tree, error) {
	return in.Trimmed(ctx, query.Trim{}, metrics...)
}

// Trimmed is TopDown without the nodes that trim leaves out.
func (in *Input) Trimmed(ctx context.Context, trim query.Trim, metrics ...query.Metric) (*query.Tree, error) {
	q := in.Query
	if metrics != nil {
		q.Metrics = metrics
	}
	t, err := query.TopDown(ctx, in.Source, &q, trim)
	if err == nil {
		in.missing(&t.Answer)
	}
	return t, err
}

// Develop answers the question as a timeline of n equal steps.
func (in *Input) Develop(ctx context.Context, n int) (*query.Series, error) {
	q := in.Query
	q.Metrics = []query.Metric{query.Bytes}
	s, err := query.Develop(ctx, in.Source, &q, n, 0)
	if err == nil {
		in.missing(&s.Answer)
	}
	return s, err
}

// Events yields the events that match the question; see query.Events.
func (in *Input) Events(ctx context.Context, yield func(n, ref uint64, e *event.Event) error) error {
	a, err := query.Events(ctx, in.Source, &in.Query, yield)
	if err == nil {
		in.missing(a)
	}
	return err
}

func (in *Input) missing(a *query.Answer) {
	if a.Missing != "" && in.Missing != nil {
		in.Missing(a.Missing)
	}
}

// PCs yields the pcs of a call stack, leaf to root. If the stack is too deep to be written whole, PCs yields the pcs
// nearest to the leaf, then profile.CutPC.
func (in *Input) PCs(stack uint32, yield func(pc uint32) bool) {
	in.Profile.PCs(stack, func(pc uint32) bool {
		if pc == CutPC {
			in.ReportCut()
		}
		return yield(pc)
	})
}

// ReportCut calls in.Cut: a call stack was too deep to be written whole.
func (in *Input) ReportCut() {
	if in.Cut != nil {
		in.Cut()
	}
}

// Frames returns the frames at a pc that are not hidden, leaf to root; there may be none. All but the last are inlined.
func (in *Input) Frames(pc uint32) []profile.Frame {
	list, ok := in.frames[pc]
	if !ok {
		if in.frames == nil {
			in.frames = make(map[uint32][]profile.Frame)
		}
		list = in.Query.Frames(in.Source, pc)
		in.frames[pc] = list
	}
	return list
}

// AppendFrames appends the frames of a call stack that are not hidden, leaf to root. A stack that was not recorded has
// none.
func (in *Input) AppendFrames(list []profile.Frame, stack uint32) []profile.Frame {
	in.PCs(stack, func(pc uint32) bool {
		list = append(list, in.Frames(pc)...)
		return true
	})
	return list
}

// Unknown is the name shown for a call stack that was not recorded, or whose frames are all hidden.
const Unknown = "[unknown]"

// The pc and the name that replace the frames cut off a call stack; see Input.PCs.
const (
	CutPC   = profile.CutPC
	CutName = profile.CutName
)

// FrameName returns a frame's function, or its address if the function has no name.
func FrameName(f *profile.Frame) string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return fmt.Sprintf("%s+%#x", base(f.Module), f.Offset)
	}
	return fmt.Sprintf("%#x", f.Address)
}

// GroupName returns the name of a group, as trees and tables show it.
func (in *Input) GroupName(g *query.Group) string {
	switch {
	case g.By == query.ByThread:
		return ThreadName(in.Reader.Threads(), g.Thread)
	case g.By == query.BySizeClass:
		low, high := query.SizeClass(g.Class)
		if low == high {
			return fmt.Sprintf("%d bytes", low)
		}
		return fmt.Sprintf("%d-%d bytes", low, high)
	case g.By == query.ByAllocation:
		return g.Func.String()
	case g.By == query.ByRegion || g.By == query.ByRegionName:
		if g.Unknown {
			return "[no region]"
		}
		return g.Region
	case g.Unknown:
		return Unknown
	case g.By == query.ByModule && g.Module != "":
		return base(g.Module)
	case g.By == query.ByModule:
		return "[no file]"
	case g.By == query.ByFile && g.File != "":
		return g.File
	case g.By == query.ByFile && g.Module != "":
		return "[" + base(g.Module) + "]"
	case g.By == query.ByFile:
		return "[no file]"
	}
	f := profile.Frame{Function: g.Function, Module: g.Module, Offset: g.Offset, Address: g.Offset}
	name := FrameName(&f)
	if g.By == query.ByAddress && g.Function != "" {
		f.Function = ""
		name += " " + FrameName(&f)
	}
	if g.Line != 0 && g.By != query.ByFunction {
		name += fmt.Sprintf(" %s:%d", base(g.File), g.Line)
	}
	return name
}

// LabelName returns the name of a row's label. Nested regions are joined by semicolons, outermost first, like the
// frames of a folded stack.
func (in *Input) LabelName(label uint32) string {
	var names []string
	for _, g := range in.GroupsOfLabel(in.Query.By, label) {
		names = append(names, strings.ReplaceAll(in.GroupName(&g), ";", ":"))
	}
	return strings.Join(names, ";")
}

// RegionNames returns a function that names the regions in which the block of an event was allocated, as LabelName
// does. It returns "" if there are none.
func (in *Input) RegionNames() func(ref uint64, e *event.Event) string {
	if len(in.Reader.Regions()) == 0 {
		return func(uint64, *event.Event) string { return "" }
	}
	label := in.RegionLabels()
	names := map[uint32]string{0: ""}
	one := *in
	one.Query.By = query.ByRegion
	return func(ref uint64, e *event.Event) string {
		if ref == event.NoRef {
			return ""
		}
		l := label(ref, e)
		name, ok := names[l]
		if !ok {
			name = one.LabelName(l)
			names[l] = name
		}
		return name
	}
}

// ThreadName returns a thread's name and its id, because several threads may have one name.
func ThreadName(list []event.Thread, index uint32) string {
	if int64(index) >= int64(len(list)) {
		return fmt.Sprintf("thread %d", index)
	}
	t := &list[index]
	if t.Name == "" {
		return fmt.Sprintf("thread %d", t.TID)
	}
	return fmt.Sprintf("%s (%d)", t.Name, t.TID)
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Title returns a title of one line: the program, its process id, and what was asked for.
func (in *Input) Title() string {
	p := in.Reader.Process()
	name := base(p.Exe)
	if name == "" {
		name = in.Name
	}
	if p.PID != 0 {
		name += fmt.Sprintf(" (%d)", p.PID)
	}
	return strings.Join(append([]string{name}, in.Asked...), " ")
}

// Facts returns facts about the recording, a line each, for formats that have comments.
func (in *Input) Facts() []string {
	p := in.Reader.Process()
	list := []string{"recording: " + in.Name}
	add := func(name, value string) {
		if value != "" {
			list = append(list, name+": "+value)
		}
	}
	add("program", p.Exe)
	add("arguments", strings.Join(p.Args, " "))
	if p.PID != 0 {
		add("process", fmt.Sprint(p.PID))
	}
	add("host", p.Host)
	add("recorder", p.Recorder)
	add("selected", strings.Join(in.Asked, " "))
	if p.Sampling != (event.Sampling{}) {
		add("sampled", p.Sampling.String()+" on average; values are estimates of all allocations, scaled already")
	}
	if own := in.Profile.Runtime; own.Blocks > 0 {
		add("kept by the runtime, not leaked", fmt.Sprintf("%d bytes, %d blocks at the end", own.Bytes, own.Blocks))
	}
	for _, d := range in.Profile.Damage {
		add("missing", d)
	}
	return list
}

// Find returns the known format that -f NAME or -f NAME:VARIANT means, and its variant if it has variants. It returns
// false if there is no such format or variant.
func Find(known []*Format, text string) (*Format, Variant, bool) {
	name, variant, chosen := strings.Cut(text, ":")
	i := slices.IndexFunc(known, func(f *Format) bool { return f.Name == name })
	if i < 0 {
		return nil, Variant{}, false
	}
	f := known[i]
	if !chosen && f.Variants == nil {
		return f, Variant{}, true
	}
	k := slices.IndexFunc(f.Variants, func(v Variant) bool { return v.Name == variant })
	if !chosen {
		k = 0
	}
	if k < 0 {
		return nil, Variant{}, false
	}
	return f, f.Variants[k], true
}

// Names returns every text that Find accepts, as -f spells it.
func Names(known []*Format) (list []string) {
	for _, f := range known {
		list = append(list, f.Name)
		for _, v := range f.Variants[min(1, len(f.Variants)):] {
			list = append(list, f.Name+":"+v.Name)
		}
	}
	return list
}

// FileExtension returns the extension of a variant's files.
func (f *Format) FileExtension(v Variant) string {
	if v.Extension != "" {
		return v.Extension
	}
	return f.Extension
}

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

// Format is a form in which other tools read recordings.
type Format struct {
	Name      string // as -f spells it
	Tool      string // what reads it
	Extension string // of the file's name, with its dot
	Binary    bool   // it is not for terminals
	Keeps     string // what of a recording is in it, as a list in words
	Loses     string // and what is not
	In        string // what heaptap import takes back of it; "": it is not imported
	// Variants are forms that the format comes in; the first is what -f NAME means, the others are -f NAME:VARIANT. nil: it has one form.
	Variants []Variant
	// Metrics are what is written unless others are asked for. nil: the format says itself what it has, and --metric is refused.
	Metrics []query.Metric
	One     bool // only one metric fits into a file
	AnyKind bool // metrics that do not sum up, and quotients, may be written, too
	// By are the groupings that make sense; the first is what is written unless another is asked for. nil: --by is refused.
	By []query.By
	// Write writes the format. What it writes is buffered; errors of w need not be looked at before the end.
	Write func(ctx context.Context, w io.Writer, in *Input) error
}

// GroupingsOfStacks are those of formats that have whole call stacks, for Format.By.
var GroupingsOfStacks = []query.By{query.ByStack, query.ByThread, query.BySizeClass, query.ByAllocation, query.ByRegion}

// GroupingsOfTrees are those of formats that have trees of frames: groups of blocks are above the frames.
var GroupingsOfTrees = []query.By{query.ByFunction, query.ByLine, query.ByAddress, query.ByFile, query.ByModule, query.ByThread, query.BySizeClass,
	query.ByAllocation, query.ByRegion, query.ByRegionName}

// Variant is one of several forms of a format.
type Variant struct {
	Name      string
	Text      string // what it is
	Extension string // "": the format's
	Fixed     bool   // its content is what it is: --metric and --by are refused
}

// Input is what is written: an open recording, and a question about it.
type Input struct {
	*query.Source
	// Query is the question: its Metrics and By are among those of the format.
	Query query.Query
	// Name of the recording, without folder and extension.
	Name string
	// Asked are range, moment and filters, as they were written on the command line.
	Asked []string
	// Variant of the format; "" if it has none.
	Variant string
	// Period is the time that formats tell where they have room for it; nil: that of the question's range.
	Period *Period
	// Labels are told with the process, where a format has room for them.
	Labels []Label
	// Missing is called with what could not be read, if something could not; nil: nobody wants to know.
	Missing func(text string)

	// Cut is called when a call stack is cut, since it is too deep; nil: nobody wants to know.
	Cut func()

	frames map[uint32][]profile.Frame // see Frames
}

// Period is a time, ns since the recording's start. A moment has no span.
type Period struct{ Begin, Span int64 }

// Label is a fact about a process that whoever recorded it knows.
type Label struct{ Name, Value string }

// PeriodOf is the time of an answer, ns since the recording's start.
func (in *Input) PeriodOf(a *query.Answer) Period {
	if in.Period != nil {
		return *in.Period
	}
	return Period{a.Begin, a.Span}
}

// Stacks answers the question by call stack, with these metrics; none: those of the question.
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

// Trimmed is TopDown without what is too small.
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

// Develop answers with the development over n steps of equal time.
func (in *Input) Develop(ctx context.Context, n int) (*query.Series, error) {
	q := in.Query
	q.Metrics = []query.Metric{query.Bytes}
	s, err := query.Develop(ctx, in.Source, &q, n, 0)
	if err == nil {
		in.missing(&s.Answer)
	}
	return s, err
}

// Events yields the events that count; see query.Events.
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

// PCs yields the pcs of a call stack, leaf to root; of one that is too deep to be written with all of its frames, those nearest to the
// leaf, then profile.CutPC.
func (in *Input) PCs(stack uint32, yield func(pc uint32) bool) {
	in.Profile.PCs(stack, func(pc uint32) bool {
		if pc == CutPC {
			in.TellCut()
		}
		return yield(pc)
	})
}

// TellCut tells that call stacks were cut, which are too deep to be written with all of their frames.
func (in *Input) TellCut() {
	if in.Cut != nil {
		in.Cut()
	}
}

// Frames returns the frames at a pc, leaf to root, without hidden ones: there may be none. All but the last are inlined.
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

// AppendFrames appends the frames of a call stack, leaf to root, without hidden ones. A stack that was not recorded has none.
func (in *Input) AppendFrames(list []profile.Frame, stack uint32) []profile.Frame {
	in.PCs(stack, func(pc uint32) bool {
		list = append(list, in.Frames(pc)...)
		return true
	})
	return list
}

// Unknown is what stands for the frames of a call stack that was not recorded, or whose frames are all hidden.
const Unknown = "[unknown]"

// What stands for frames that were cut off a call stack; see Input.PCs.
const (
	CutPC   = profile.CutPC
	CutName = profile.CutName
)

// FrameName names a frame: its function, or its address if that has no name.
func FrameName(f *profile.Frame) string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return fmt.Sprintf("%s+%#x", base(f.Module), f.Offset)
	}
	return fmt.Sprintf("%#x", f.Address)
}

// GroupName names a group as a node of a tree or a row of a table is named.
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

// LabelName names the groups of blocks that a row's label stands for: of regions all, from the outermost on, as folded stacks have frames.
func (in *Input) LabelName(label uint32) string {
	var names []string
	for _, g := range in.GroupsOfLabel(in.Query.By, label) {
		names = append(names, strings.ReplaceAll(in.GroupName(&g), ";", ":"))
	}
	return strings.Join(names, ";")
}

// RegionNames returns a function that names the regions in which the block of an event was allocated, as LabelName does; "": none.
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

// ThreadName names a thread: its name and its id, which tells threads of one name apart.
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

// Title says in a line what is shown: the program, its process, and what was asked for.
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

// Facts are the facts about the recording that formats with room for comments carry, a line each.
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
	for _, d := range in.Profile.Damage {
		add("missing", d)
	}
	return list
}

// Find returns the format that -f NAME or -f NAME:VARIANT means, with the variant if it has some; false if there is none. known says
// which formats there are.
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

// Names are all that Find finds, as -f spells them.
func Names(known []*Format) (list []string) {
	for _, f := range known {
		list = append(list, f.Name)
		for _, v := range f.Variants[min(1, len(f.Variants)):] {
			list = append(list, f.Name+":"+v.Name)
		}
	}
	return list
}

// FileExtension is that of a variant's files.
func (f *Format) FileExtension(v Variant) string {
	if v.Extension != "" {
		return v.Extension
	}
	return f.Extension
}

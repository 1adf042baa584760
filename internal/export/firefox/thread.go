package firefox

import (
	"context"
	"slices"
	"strconv"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// thread is the format's RawThread, without its allocations.
type thread struct {
	ProcessType  string        `json:"processType"`
	Startup      milliseconds  `json:"processStartupTime"`
	Shutdown     *milliseconds `json:"processShutdownTime"`
	Registered   milliseconds  `json:"registerTime"`
	Unregistered *milliseconds `json:"unregisterTime"`
	PausedRanges []struct{}    `json:"pausedRanges"`
	Name         string        `json:"name"`
	Main         bool          `json:"isMainThread"`
	ProcessName  string        `json:"processName"`
	PID          string        `json:"pid"`
	TID          int           `json:"tid"`
	Samples      samples       `json:"samples"`
	Markers      markers       `json:"markers"`
	Stacks       stackTable    `json:"stackTable"`
	Frames       frameTable    `json:"frameTable"`
	Strings      []string      `json:"stringArray"`
	Funcs        funcTable     `json:"funcTable"`
	Resources    resourceTable `json:"resourceTable"`
	Symbols      nativeSymbols `json:"nativeSymbols"`
}

// samples are the thread's CPU samples. There is a single one, without a stack, because the profiler needs one.
type samples struct {
	Stack      []*int         `json:"stack"`
	Time       []milliseconds `json:"time"`
	Weight     *[]int         `json:"weight"`
	WeightType string         `json:"weightType"`
	Length     int            `json:"length"`
}

type markers struct {
	Data      []moment       `json:"data"`
	Name      []int          `json:"name"`
	StartTime []milliseconds `json:"startTime"`
	EndTime   []*int         `json:"endTime"`
	Phase     []int          `json:"phase"` // 0: an instant
	Category  []int          `json:"category"`
	Length    int            `json:"length"`
}

// moment is the data of a marker.
type moment struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Bytes  uint64 `json:"bytes"`
	Blocks uint64 `json:"blocks"`
}

type markerSchema struct {
	Name         string        `json:"name"`
	TooltipLabel string        `json:"tooltipLabel"`
	TableLabel   string        `json:"tableLabel"`
	ChartLabel   string        `json:"chartLabel"`
	Display      []string      `json:"display"`
	Data         []markerField `json:"data"`
}

type markerField struct {
	Key        string `json:"key"`
	Label      string `json:"label"`
	Format     string `json:"format"`
	Searchable bool   `json:"searchable"`
}

const momentType = "heaptap"

var schemas = []markerSchema{{
	Name: momentType, TooltipLabel: "{marker.name}", TableLabel: "{marker.data.text}", ChartLabel: "{marker.name}",
	Display: []string{"marker-chart", "marker-table", "timeline-overview", "timeline-memory"},
	Data: []markerField{{"text", "What", "string", true}, {"bytes", "Live bytes", "bytes", false},
		{"blocks", "Live blocks", "integer", false}},
}}

func threadOf(in *export.Input, t *tables, a *query.Answer) *thread {
	p := in.Reader.Process()
	name := in.Title()
	th := &thread{
		ProcessType: "default", Startup: 0, Registered: 0, PausedRanges: []struct{}{}, Name: name, Main: true,
		ProcessName: in.Program(), PID: strconv.Itoa(p.PID), TID: p.PID,
		Samples: samples{Stack: []*int{nil}, Time: []milliseconds{milliseconds(a.Begin)}, WeightType: "samples",
			Length: 1},
		Markers: markers{Data: []moment{}, Name: []int{}, StartTime: []milliseconds{}, EndTime: []*int{},
			Phase: []int{}, Category: []int{}},
		Symbols: nativeSymbols{[]int{}, []int{}, []int{}, []*int{}, 0},
	}
	if at, ok := in.PeakTime(a); ok {
		th.Markers.add(t, "peak", at, moment{Text: "most live bytes", Bytes: a.Total.PeakBytes,
			Blocks: a.Total.PeakBlocks})
	}
	marks, names := a.Marks(in.Source)
	for i := range marks {
		th.Markers.add(t, names[i], marks[i].Time, moment{Text: "mark by " + marks[i].Source.String()})
	}
	if e, ok := in.Reader.Ending(); ok {
		end := milliseconds(e.End)
		th.Shutdown, th.Unregistered = &end, &end
		if e.End >= a.Begin && e.End <= a.Begin+a.Span {
			th.Markers.add(t, "end", e.End, moment{Text: export.EndingText(&e)})
		}
	}
	th.Stacks, th.Frames, th.Funcs, th.Resources = t.stacks, t.frames, t.funcs, t.resourceList
	if th.Strings = t.strings.List(); th.Strings == nil {
		th.Strings = []string{}
	}
	return th
}

func (m *markers) add(t *tables, name string, at int64, data moment) {
	data.Type = momentType
	m.Data, m.Name, m.StartTime = append(m.Data, data), append(m.Name, t.string(name)),
		append(m.StartTime, milliseconds(at))
	m.EndTime, m.Phase, m.Category = append(m.EndTime, nil), append(m.Phase, 0), append(m.Category, other)
	m.Length++
}

// counter is the format's Counter, here of live bytes.
type counter struct {
	Name        string         `json:"name"`
	Category    string         `json:"category"` // Memory, for which the profiler has a graph
	Description string         `json:"description"`
	PID         string         `json:"pid"`
	Thread      int            `json:"mainThreadIndex"`
	Samples     counterSamples `json:"samples"`
}

type counterSamples struct {
	Time   []milliseconds `json:"time"`
	Number []uint64       `json:"number"` // of allocations and deallocations since the previous sample
	Count  []int64        `json:"count"`  // change of the live bytes since then
	Length int            `json:"length"`
}

// memoryCounter samples the live bytes in equal steps, and at the peak.
func memoryCounter(ctx context.Context, in *export.Input, a *query.Answer) (*counter, error) {
	c := &counter{Name: "malloc", Category: "Memory", Description: "live bytes",
		PID:     strconv.Itoa(in.Reader.Process().PID),
		Samples: counterSamples{Time: []milliseconds{}, Number: []uint64{}, Count: []int64{}}}
	s, err := in.Develop(ctx, points)
	if err != nil {
		if export.OnlySums(err) {
			err = nil
		}
		return c, err
	}
	type level struct {
		at         int64
		live, done uint64
	}
	var list []level
	for i, at := range s.Times {
		p := &s.All.Points[i]
		list = append(list, level{at, p.Live, p.Allocations + p.Deallocations})
	}
	if at, ok := in.PeakTime(a); ok {
		i, _ := slices.BinarySearchFunc(list, at, func(l level, at int64) int { return int(min(max(l.at-at, -1), 1)) })
		list = slices.Insert(list, i, level{at: at, live: a.Total.PeakBytes})
	}
	before := uint64(0)
	for _, l := range list {
		c.Samples.Time = append(c.Samples.Time, milliseconds(l.at))
		c.Samples.Number = append(c.Samples.Number, l.done)
		c.Samples.Count = append(c.Samples.Count, int64(l.live-before))
		before = l.live
	}
	c.Samples.Length = len(list)
	return c, nil
}

package dump

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/humanize"
)

// part is what blocks of one type, or columns of one name, take of the file.
type part struct {
	Type     string `json:"type"`
	Column   string `json:"column,omitempty"` // "" for all blocks of the type
	Blocks   int    `json:"blocks"`           // that have it
	Stored   int64  `json:"bytes"`            // in the file
	Unpacked int64  `json:"unpacked"`
}

// page is what Page tells.
type page struct {
	File     string   `json:"file"`
	Version  string   `json:"version"`
	Bytes    int64    `json:"bytes"`
	Complete bool     `json:"complete"`
	Damage   []string `json:"damage"`
	Notes    []string `json:"notes"`
	PID      int      `json:"pid"`
	Parent   int      `json:"parent"`
	Args     []string `json:"args"`
	Exe      string   `json:"exe"`
	Recorder string   `json:"recorder"`
	Ended    string   `json:"ended"` // how, in words
	Events   uint64   `json:"events"`
	Lost     uint64   `json:"lost_events"`
	LastTime int64    `json:"last_event_ns"`
	Duration int64    `json:"duration_ns"`
	Threads  int      `json:"threads"`
	Modules  int      `json:"modules"`
	PCs      int      `json:"addresses"`
	Nodes    int      `json:"stacks"`
	Samples  int      `json:"samples"`
	Marks    int      `json:"marks"`
	Regions  int      `json:"regions"` // times that one was entered
	Ranges   int      `json:"ranges"`  // names of memory
	Parts    []part   `json:"parts"`
}

// Page writes one page on what the file holds, and what takes its room. It reads all blocks, but decodes no events.
func (d *Dumper) Page() error {
	p := d.page()
	if d.json {
		d.object(p)
		return d.err
	}
	version := p.Version
	if p.Recorder != "" {
		version += ", by heaptap " + printable(p.Recorder)
	}
	complete := "yes"
	if !p.Complete {
		complete = "no"
	}
	for _, row := range [][2]string{
		{"file", printable(p.File)}, {"format", version}, {"bytes", humanize.Number(uint64(p.Bytes))}, {"complete",
			complete},
		{"process", strconv.Itoa(p.PID) + " " + printable(strings.Join(p.Args, " "))}, {"program",
			printable(p.Exe)}, {"ended", p.Ended},
		{"duration", string(Seconds(nil, p.Duration, 0)) + " s"}, {"events", humanize.Number(p.Events)}, {"lost events",
			humanize.Number(p.Lost)},
		{"threads", strconv.Itoa(p.Threads)}, {"modules", strconv.Itoa(p.Modules)}, {"addresses",
			strconv.Itoa(p.PCs)}, {"stacks", strconv.Itoa(p.Nodes)},
		{"samples", strconv.Itoa(p.Samples)}, {"marks", strconv.Itoa(p.Marks)},
		{"regions", strconv.Itoa(p.Regions)}, {"ranges", strconv.Itoa(p.Ranges)},
	} {
		d.printf("%-12s %s\n", row[0], row[1])
	}
	for _, s := range p.Damage {
		d.printf("%-12s %s\n", "damage", printable(s))
	}
	for _, s := range p.Notes {
		d.printf("%-12s %s\n", "note", printable(s))
	}
	d.printf("\n%-12s %-34s %8s %16s %16s %9s\n", "type", "column", "blocks", "bytes", "unpacked", "B/event")
	for _, t := range p.Parts {
		per := "-"
		if p.Events > 0 {
			per = strconv.FormatFloat(float64(t.Stored)/float64(p.Events), 'f', 3, 64)
		}
		d.printf("%-12s %-34s %8d %16s %16s %9s\n", t.Type, t.Column, t.Blocks, humanize.Number(uint64(t.Stored)),
			humanize.Number(uint64(t.Unpacked)), per)
	}
	return d.err
}

func (d *Dumper) page() *page {
	r := d.r
	pr := r.Process()
	p := &page{File: r.Name(), Version: "", Bytes: r.Size(), PID: pr.PID, Parent: pr.Parent, Args: pr.Args, Exe: pr.Exe,
		Recorder: pr.Recorder,
		Lost:     r.Health().LostEvents, Threads: len(r.Threads()), Modules: len(r.Modules()), PCs: r.PCs().Len(), Nodes: r.Nodes().Len(),
		Samples: len(r.Samples()), Marks: len(r.Marks()), Ranges: len(r.Ranges()), Notes: append([]string{},
			r.Health().Notes...)}
	for _, n := range r.Regions() {
		if n.Leaves == 0 && n.Late == event.NotLate {
			p.Regions++
		}
	}
	major, minor := r.Version()
	p.Version = strconv.Itoa(major) + "." + strconv.Itoa(minor)
	where := map[[2]string]int{}
	add := func(typ, column string, stored, unpacked int64) {
		i, ok := where[[2]string{typ, column}]
		if !ok {
			i = len(p.Parts)
			where[[2]string{typ, column}] = i
			p.Parts = append(p.Parts, part{Type: typ, Column: column})
		}
		t := &p.Parts[i]
		t.Blocks++
		t.Stored += stored
		t.Unpacked += unpacked
	}
	list := r.Blocks()
	damage := []string{}
	for i := range list {
		b := &list[i]
		if b.Type == "events" {
			p.Events += b.Events
			p.LastTime = b.End
		}
		cols, err := r.Columns(i)
		if err != nil {
			damage = append(damage, "the block of "+b.Type+" at offset "+strconv.Itoa(int(b.Offset))+": "+err.Error())
		}
		rest, unpacked := b.Size, int64(0)
		for _, c := range cols {
			rest -= c.Stored
			unpacked += c.Unpacked
		}
		add(b.Type, "", b.Size, unpacked+rest)
		for _, c := range cols {
			add(b.Type, c.Name, c.Stored, c.Unpacked)
		}
	}
	slices.SortStableFunc(p.Parts, func(a, b part) int { return strings.Compare(a.Type, b.Type) })
	for _, s := range r.Damage() {
		if !slices.Contains(damage, s) {
			damage = append(damage, s)
		}
	}
	p.Damage = damage
	p.Complete = r.Complete() && len(damage) == 0
	p.Duration = p.LastTime
	p.Ended = "not known"
	if e, ok := r.Ending(); ok {
		p.Duration = max(p.Duration, e.End)
		p.Ended = cmp.Or(e.How(), p.Ended)
	}
	return p
}

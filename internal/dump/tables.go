package dump

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/event"
)

// Threads writes the threads. Events in JSON refer to their indexes.
func (d *Dumper) Threads() error {
	if !d.json {
		d.printf("%6s %8s %14s %14s  %s\n", "index", "tid", "start", "end", "name")
	}
	for i, t := range d.r.Threads() {
		if d.json {
			d.object(struct {
				Index int    `json:"thread"`
				TID   uint32 `json:"tid"`
				Start int64  `json:"start_ns"`
				End   *int64 `json:"end_ns"`
				Name  string `json:"name"`
			}{i, t.TID, t.Start, t.Ended(), t.Name})
			continue
		}
		end := "-"
		if ns := t.Ended(); ns != nil {
			end = string(Seconds(nil, *ns, 0))
		}
		d.printf("%6d %8d %14s %14s  %s\n", i, t.TID, Seconds(nil, t.Start, 0), end, printable(t.Name))
	}
	return d.err
}

// Modules writes the files that were mapped as code, and when.
func (d *Dumper) Modules() error {
	if !d.json {
		d.printf("%4s %14s %14s %14s %14s %14s  %-40s %s\n", "id", "start", "end", "bias", "loaded", "unloaded",
			"build id", "path")
	}
	for _, m := range d.r.Modules() {
		id := hex.EncodeToString(m.BuildID)
		if d.json {
			d.object(struct {
				ID      uint32 `json:"module"`
				Start   string `json:"start"`
				End     string `json:"end"`
				Bias    string `json:"bias"`
				Loaded  int64  `json:"loaded_ns"`
				Unload  int64  `json:"unloaded_ns"`
				BuildID string `json:"build_id"`
				Path    string `json:"path"`
			}{m.ID, hexText(m.Start), hexText(m.End), hexText(m.Bias), m.Loaded, m.Unload, id, m.Path})
			continue
		}
		unload := "-"
		if m.Unload >= 0 {
			unload = string(Seconds(nil, m.Unload, 0))
		}
		if id == "" {
			id = "-"
		}
		d.printf("%4d %14s %14s %14s %14s %14s  %-40s %s\n", m.ID, hexText(m.Start), hexText(m.End), hexText(m.Bias),
			Seconds(nil, m.Loaded, 0), unload, id, printable(m.Path))
	}
	return d.err
}

// Samples writes what the kernel reported about the process's memory.
func (d *Dumper) Samples() error {
	if !d.json {
		d.printf("%14s %14s %14s %14s %14s %10s %10s %14s %14s\n", "time", "resident", "proportional", "virtual",
			"swap", "minor", "major", "available", "cached")
	}
	for _, s := range d.r.Samples() {
		if d.json {
			d.object(struct {
				Time         int64 `json:"time_ns"`
				RSS          int64 `json:"resident"`
				PSS          int64 `json:"proportional"`
				Virtual      int64 `json:"virtual"`
				Swap         int64 `json:"swap"`
				MinorFaults  int64 `json:"minor_faults"`
				MajorFaults  int64 `json:"major_faults"`
				SystemFree   int64 `json:"system_available"`
				SystemCached int64 `json:"system_cached"`
				Threads      int64 `json:"threads"`
			}{s.Time, s.RSS, s.PSS, s.Virtual, s.Swap, s.MinorFaults, s.MajorFaults, s.SystemFree, s.SystemCached,
				s.Threads})
			continue
		}
		d.printf("%14s", Seconds(nil, s.Time, 0))
		for i, v := range []int64{s.RSS, s.PSS, s.Virtual, s.Swap, s.MinorFaults, s.MajorFaults, s.SystemFree,
			s.SystemCached} {
			width := 14
			if i == 4 || i == 5 {
				width = 10
			}
			text := "-" // not read
			if v >= 0 {
				text = fmt.Sprint(v)
			}
			d.printf(" %*s", width, text)
		}
		d.printf("\n")
	}
	return d.err
}

// frame is a frame in JSON.
type frame struct {
	Function string `json:"function"`
	Linkage  string `json:"linkage,omitempty"`
	File     string `json:"file,omitempty"`
	Line     uint32 `json:"line,omitempty"`
	Inlined  bool   `json:"inlined,omitempty"`
}

// Stacks writes the calling-context tree, one node per line: its parent, its address, and the functions there, inlined
// ones first. A stack id names a node, and so all nodes from it to its root.
func (d *Dumper) Stacks() error {
	modules := make(map[uint32]event.Module)
	for _, m := range d.r.Modules() {
		modules[m.ID] = m
	}
	if !d.json {
		d.printf("%8s %8s %8s %16s  %s\n", "stack", "parent", "pc", "address", "functions")
	}
	d.r.Nodes().All(func(id uint32, n event.Node) bool {
		pc, _ := d.r.PCs().Get(n.PC)
		m := modules[pc.Module]
		frames := d.r.Frames(n.PC)
		if d.json {
			d.node(id, &n, pc, m, frames)
			return d.err == nil
		}
		list := make([]string, 0, 4)
		for i := range frames {
			list = append(list, frameText(&frames[i]))
		}
		if len(list) == 0 {
			list = append(list, "?")
		}
		text := strings.Join(list, " < ")
		if pc.Module != 0 {
			text += fmt.Sprintf(" [%s+%#x]", printable(filepath.Base(m.Path)), pc.Addr-m.Bias)
		}
		if pc.Interrupted {
			text += " interrupted"
		}
		if n.Truncated {
			text += " truncated"
		}
		d.printf("%8d %8d %8d %16s  %s\n", id, n.Parent, n.PC, hexText(pc.Addr), text)
		return d.err == nil
	})
	return d.err
}

func frameText(f *event.Frame) string {
	text := f.Function
	if text == "" {
		text = "?"
	}
	if f.File != "" {
		text += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
	}
	return printable(text)
}

func (d *Dumper) node(id uint32, n *event.Node, pc event.PC, m event.Module, frames []event.Frame) {
	list := make([]frame, len(frames))
	for i, f := range frames {
		list[i] = frame(f)
	}
	d.object(struct {
		ID          uint32  `json:"stack"`
		Parent      uint32  `json:"parent"`
		PC          uint32  `json:"pc"`
		Address     string  `json:"address"`
		Module      uint32  `json:"module"`
		Offset      string  `json:"offset,omitempty"`
		Interrupted bool    `json:"interrupted,omitempty"`
		Truncated   bool    `json:"truncated,omitempty"`
		Frames      []frame `json:"frames"`
	}{id, n.Parent, n.PC, hexText(pc.Addr), pc.Module, offset(pc, m), pc.Interrupted, n.Truncated, list})
}

func offset(pc event.PC, m event.Module) string {
	if pc.Module == 0 {
		return ""
	}
	return hexText(pc.Addr - m.Bias)
}

func hexText(v uint64) string { return string(appendHex(nil, v)) }

// printable returns a name that is safe for a terminal, on one line.
func printable(s string) string { return escape.Terminal(s) }

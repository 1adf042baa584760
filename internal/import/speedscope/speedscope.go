// Package speedscope reads the JSON of www.speedscope.app: profiles of call stacks with weights (sampled), and of
// frames that open and close (evented).
//
// A profile that is named after a metric, as in heaptap's files, is read as that metric. If there is none, the first
// one in bytes is taken for live bytes, or else the first one without a unit for live blocks. In evented profiles, the
// difference between two times is the number.
package speedscope

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/whole"
	"github.com/heaptap/heaptap/internal/merge"
)

// Is reports whether a file with this beginning is speedscope's.
func Is(head []byte) bool {
	head = bytes.TrimSpace(head)
	return len(head) > 0 && head[0] == '{' && (bytes.Contains(head, []byte("speedscope.app/file-format-schema")) ||
		bytes.Contains(head, []byte(`"shared"`)) && bytes.Contains(head, []byte(`"frames"`)))
}

type frame struct {
	Name string   `json:"name"`
	File string   `json:"file"`
	Line *float64 `json:"line"`
}

// profile is a profile. All its stacks are in one list.
type profile struct {
	kind, name, unit string
	start, end       float64
	frames           []uint32
	ends             []int // by sample: index after its last frame in frames
	weights          []float64
	events           []change
}

// change is a frame that opens or closes.
type change struct {
	at    float64
	frame uint32
	open  bool
}

// metrics maps the known names of profiles to numbers.
var metrics = map[string]func(*merge.Numbers) *uint64{
	"allocations":     func(n *merge.Numbers) *uint64 { return &n.Allocations },
	"bytes":           func(n *merge.Numbers) *uint64 { return &n.Bytes },
	"live":            func(n *merge.Numbers) *uint64 { return &n.Live },
	"live-blocks":     func(n *merge.Numbers) *uint64 { return &n.LiveBlocks },
	"leaked":          func(n *merge.Numbers) *uint64 { return &n.Live },
	"leaked-blocks":   func(n *merge.Numbers) *uint64 { return &n.LiveBlocks },
	"peak":            func(n *merge.Numbers) *uint64 { return &n.Peak },
	"peak-blocks":     func(n *merge.Numbers) *uint64 { return &n.PeakBlocks },
	"temporary":       func(n *merge.Numbers) *uint64 { return &n.Temporary },
	"temporary-bytes": func(n *merge.Numbers) *uint64 { return &n.TemporaryBytes },
}

// reader is the state of reading a file. Frames may come after the profiles that refer to them.
type reader struct {
	t       *merge.Imported
	name    string
	list    []profile
	frames  int     // of all call stacks
	pcs     []int32 // by frame
	unknown []bool  // by frame: it stands for an unknown stack
	numbers map[int32]*merge.Numbers
	order   []int32 // of the stacks
	peak    bool
}

// Read reads a file.
func Read(in io.Reader) (*merge.Imported, error) {
	r := &reader{t: merge.NewImported("speedscope"), numbers: make(map[int32]*merge.Numbers)}
	err := whole.Object(in, map[string]func(*json.Decoder) error{
		"name": to(&r.name),
		"shared": func(d *json.Decoder) error {
			return whole.Fields(d, map[string]func(*json.Decoder) error{"frames": r.readFrames})
		},
		"profiles": r.readProfiles,
	})
	if err != nil {
		return nil, err
	}
	if name := strings.Fields(r.name); len(name) > 0 {
		r.t.Process.Exe = name[0]
	}
	if err := r.profiles(); err != nil {
		return nil, err
	}
	for _, at := range r.order {
		n := r.numbers[at]
		n.PeakKnown = r.peak
		if err := r.t.Add(at, n.Stack()); err != nil {
			return nil, err
		}
	}
	if !r.peak {
		r.t.Note("The peak is unknown: live bytes at the end are shown instead.")
	}
	return r.t, nil
}

// to decodes a value into v.
func to(v any) func(*json.Decoder) error {
	return func(d *json.Decoder) error { return d.Decode(v) }
}

func (r *reader) readFrames(d *json.Decoder) error {
	return whole.Each(d, 16, func(i int) error {
		var f frame
		if err := d.Decode(&f); err != nil {
			return err
		}
		r.pcs = append(r.pcs, r.pc(&f))
		r.unknown = append(r.unknown, f.Name == "[unknown]")
		return cmp.Or(r.t.Err(), whole.AtMost(i, whole.MaxEntries, "frames"))
	})
}

// maxSamples and maxEvents limit the samples and events of a profile.
const (
	maxSamples = 1 << 22
	maxEvents  = 1 << 21
)

// readProfiles reads the profiles. The least size of values follows from what tools write: stacks of more than one
// frame, numbers of more than one digit.
func (r *reader) readProfiles(d *json.Decoder) error {
	return whole.Each(d, 64, func(int) error {
		r.list = append(r.list, profile{})
		p := &r.list[len(r.list)-1]
		var stack []uint32
		return whole.Fields(d, map[string]func(*json.Decoder) error{
			"type": to(&p.kind), "name": to(&p.name), "unit": to(&p.unit), "startValue": to(&p.start),
			"endValue": to(&p.end),
			"samples": func(d *json.Decoder) error {
				return whole.Each(d, 8, func(i int) error {
					stack = stack[:0]
					err := d.Decode(&stack)
					p.frames = append(p.frames, stack...)
					p.ends = append(p.ends, len(p.frames))
					r.frames += len(stack)
					return cmp.Or(err, whole.AtMost(r.frames, whole.MaxFrames, "frames of call stacks"),
						whole.AtMost(i, maxSamples, "samples"))
				})
			},
			"weights": func(d *json.Decoder) error {
				return whole.Each(d, 3, func(i int) error {
					var v float64
					err := d.Decode(&v)
					p.weights = append(p.weights, v)
					return cmp.Or(err, whole.AtMost(i, maxSamples, "weights"))
				})
			},
			"events": func(d *json.Decoder) error {
				return whole.Each(d, 20, func(i int) error {
					var e struct {
						Type  string  `json:"type"`
						Frame uint32  `json:"frame"`
						At    float64 `json:"at"`
					}
					if err := d.Decode(&e); err != nil {
						return err
					}
					if e.Type != "O" && e.Type != "C" {
						return fmt.Errorf("events[%d]: type %.40q is unknown", i, e.Type)
					}
					p.events = append(p.events, change{e.At, e.Frame, e.Type == "O"})
					return whole.AtMost(i, maxEvents, "events")
				})
			},
		})
	})
}

// pc returns the number of a frame. Its file may be a source file or, without a line, a module.
func (r *reader) pc(f *frame) int32 {
	out := event.Frame{Function: f.Name}
	module := merge.NoModule
	switch {
	case f.Line != nil && *f.Line >= 1 && *f.Line <= math.MaxUint32:
		out.File, out.Line = f.File, uint32(*f.Line)
	case strings.HasPrefix(f.File, "/"):
		module = r.t.Module(f.File, nil, 0)
	default:
		out.File = f.File
	}
	return r.t.PC(module, 0, false, []event.Frame{out})
}

// profiles reads the profiles that are known.
func (r *reader) profiles() error {
	known := false
	for i := range r.list {
		p := &r.list[i]
		name, _, _ := strings.Cut(p.name, ", ") // heaptap appends a thread
		if of := metrics[name]; of != nil {
			known = true
			r.peak = r.peak || strings.HasPrefix(name, "peak")
			if err := r.profile(p, of); err != nil {
				return fmt.Errorf("profiles[%d]: %w", i, err)
			}
		}
	}
	if known {
		return nil
	}
	for _, wanted := range []struct{ unit, metric string }{{"bytes", "live"}, {"none", "live-blocks"}} {
		for i := range r.list {
			if p := &r.list[i]; p.unit == wanted.unit {
				r.t.Note(fmt.Sprintf("The file does not say what %.80q means: it is taken for %s at the end.", p.name,
					map[string]string{"live": "live bytes", "live-blocks": "live blocks"}[wanted.metric]))
				if err := r.profile(p, metrics[wanted.metric]); err != nil {
					return fmt.Errorf("profiles[%d]: %w", i, err)
				}
				return nil
			}
		}
	}
	return errors.New("profiles: none is of bytes, or named after a metric of memory")
}

func (r *reader) profile(p *profile, of func(*merge.Numbers) *uint64) error {
	switch p.kind {
	case "sampled":
		return r.sampled(p, of)
	case "evented":
		return r.evented(p, of)
	}
	return fmt.Errorf("type %.40q is unknown", p.kind)
}

func (r *reader) sampled(p *profile, of func(*merge.Numbers) *uint64) error {
	if len(p.weights) != len(p.ends) {
		return fmt.Errorf("%d samples with %d weights", len(p.ends), len(p.weights))
	}
	begin := 0
	for i, end := range p.ends {
		s := p.frames[begin:end]
		begin = end
		at := int32(0)
		for _, f := range s {
			var err error
			if at, err = r.call(at, f); err != nil {
				return fmt.Errorf("samples[%d]: %w", i, err)
			}
		}
		if err := r.add(at, p.weights[i], of); err != nil {
			return fmt.Errorf("weights[%d]: %w", i, err)
		}
	}
	return nil
}

func (r *reader) evented(p *profile, of func(*merge.Numbers) *uint64) error {
	type open struct {
		frame uint32
		stack int32
	}
	stack := []open{{}}
	last := p.start
	for i, e := range p.events {
		top := stack[len(stack)-1]
		if err := r.add(top.stack, e.at-last, of); err != nil {
			return fmt.Errorf("events[%d]: %w", i, err)
		}
		last = e.at
		switch {
		case e.open:
			at, err := r.call(top.stack, e.frame)
			if err != nil {
				return fmt.Errorf("events[%d]: %w", i, err)
			}
			stack = append(stack, open{e.frame, at})
		case len(stack) == 1 || top.frame != e.frame:
			return fmt.Errorf("events[%d]: frame %d is closed, but is not the open one", i, e.frame)
		default:
			stack = stack[:len(stack)-1]
		}
	}
	if len(stack) > 1 {
		return fmt.Errorf("%d frames are never closed", len(stack)-1)
	}
	return r.add(0, p.end-last, of)
}

// call returns the stack of a frame that another stack calls. A frame for an unknown stack adds nothing.
func (r *reader) call(at int32, frame uint32) (int32, error) {
	if int64(frame) >= int64(len(r.pcs)) {
		return 0, fmt.Errorf("frame %d of %d", frame, len(r.pcs))
	}
	if at == 0 && r.unknown[frame] {
		return 0, nil
	}
	return r.t.Node(at, r.pcs[frame]), nil
}

func (r *reader) add(stack int32, weight float64, of func(*merge.Numbers) *uint64) error {
	if !(weight >= 0 && weight < math.MaxInt64) {
		return fmt.Errorf("%v is not a number of bytes or blocks", weight)
	}
	n := uint64(math.Round(weight))
	if n == 0 {
		return nil
	}
	v := r.numbers[stack]
	if v == nil {
		v = &merge.Numbers{}
		r.numbers[stack] = v
		r.order = append(r.order, stack)
	}
	if *of(v)+n > math.MaxInt64 {
		return errors.New("the numbers add up to more than 63 bits")
	}
	*of(v) += n
	return nil
}

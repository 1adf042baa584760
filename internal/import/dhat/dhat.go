// Package dhat reads data files of DHAT, Valgrind's heap profiler, in version 2 of their format: see package
// export/dhat.
//
// Lifetimes are not imported: DHAT's include blocks that were never freed.
package dhat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/import/valgrind"
	"github.com/heaptap/heaptap/internal/import/whole"
	"github.com/heaptap/heaptap/internal/merge"
)

// Is reports whether a file with this beginning is DHAT's.
func Is(head []byte) bool {
	head = bytes.TrimSpace(head)
	return len(head) > 0 && head[0] == '{' && bytes.Contains(head, []byte(`"dhatFileVersion"`))
}

// allocator is part of the names of the functions with which Valgrind replaces malloc.
const allocator = "/vgpreload_"

// point is a call stack and its numbers.
type point struct {
	Bytes      uint64   `json:"tb"`
	Blocks     uint64   `json:"tbk"`
	Most       uint64   `json:"mb"`
	Peak       uint64   `json:"gb"`
	PeakBlocks uint64   `json:"gbk"`
	End        uint64   `json:"eb"`
	EndBlocks  uint64   `json:"ebk"`
	Frames     []uint32 `json:"fs"`
}

// reader is the state of reading a file. The names of the frames come last, so the points are kept until then, their
// frames in one list.
type reader struct {
	t       *merge.Imported
	version int
	mode    string
	unit    string
	command string
	end     int64
	peak    int64
	points  []kept
	frames  []uint32
	pcs     []named // by index of the frame
}

// kept is a point. Its frames end at an index of the list of all frames.
type kept struct {
	merge.Numbers
	framesEnd int
}

// named is a frame. Functions with which Valgrind replaces malloc belong to the allocator.
type named struct {
	pc               int32
	known, allocator bool
}

// Read reads a data file.
func Read(in io.Reader) (*merge.Imported, error) {
	r := &reader{t: merge.NewImported("dhat")}
	to := func(v any) func(*json.Decoder) error {
		return func(d *json.Decoder) error { return d.Decode(v) }
	}
	err := whole.Object(in, map[string]func(*json.Decoder) error{
		"dhatFileVersion": to(&r.version), "mode": to(&r.mode), "tu": to(&r.unit), "cmd": to(&r.command),
		"pid": to(&r.t.Process.PID),
		"te":  to(&r.end), "tg": to(&r.peak), "pps": r.readPoints, "ftbl": r.readFrames,
	})
	switch {
	case err != nil:
		return nil, err
	case r.version != 2:
		return nil, errors.New("dhatFileVersion: expected version 2")
	case r.mode != "heap":
		return nil, fmt.Errorf("mode: %.40q has no allocations; expected heap", r.mode)
	case len(r.pcs) == 0:
		return nil, errors.New("ftbl: the names of the frames are missing")
	}
	r.t.Process.Args = strings.Fields(r.command)
	if len(r.t.Process.Args) > 0 {
		r.t.Process.Exe = r.t.Process.Args[0]
	}
	if r.unit == "ns" {
		r.t.Input.End, r.t.Input.PeakTime = max(r.end, 0), max(r.peak, 0)
	}
	begin := 0
	for i := range r.points {
		p := &r.points[i]
		at, err := r.stack(r.frames[begin:p.framesEnd])
		if err != nil {
			return nil, fmt.Errorf("pps[%d].%w", i, err)
		}
		if err := r.t.Add(at, p.Stack()); err != nil {
			return nil, fmt.Errorf("pps[%d]: %w", i, err)
		}
		begin = p.framesEnd
	}
	return r.t, nil
}

// readPoints reads the list of points. No point is shorter than the names of its fields.
func (r *reader) readPoints(d *json.Decoder) error {
	var p point
	return whole.Each(d, 32, func(i int) error {
		p = point{Frames: p.Frames[:0]}
		if err := d.Decode(&p); err != nil {
			return err
		}
		r.frames = append(r.frames, p.Frames...)
		r.points = append(r.points, kept{merge.Numbers{Allocations: p.Blocks, Bytes: p.Bytes, Live: p.End,
			LiveBlocks: p.EndBlocks, Peak: p.Peak,
			PeakBlocks: p.PeakBlocks, PeakKnown: true, OwnPeak: p.Most}, len(r.frames)})
		return errors.Join(whole.AtMost(len(r.frames), whole.MaxFrames, "frames of call stacks"),
			whole.AtMost(i+1, whole.MaxEntries, "points"))
	})
}

// readFrames reads the names of the frames.
func (r *reader) readFrames(d *json.Decoder) error {
	return whole.Each(d, 16, func(i int) error {
		var name string
		if err := d.Decode(&name); err != nil {
			return err
		}
		n := named{allocator: strings.Contains(name, allocator)}
		if i > 0 { // the first one is the root
			n.pc, n.known = valgrind.PC(r.t, name)
		}
		r.pcs = append(r.pcs, n)
		return cmp.Or(r.t.Err(), whole.AtMost(i, whole.MaxEntries, "frames"))
	})
}

// stack returns the number of the call stack with these frames, leaf first.
func (r *reader) stack(frames []uint32) (int32, error) {
	if len(frames) > 1 && int64(frames[0]) < int64(len(r.pcs)) && r.pcs[frames[0]].allocator {
		frames = frames[1:] // heaptap's call stacks begin with the caller of the allocator
	}
	at := int32(0)
	for i, n := range slices.Backward(frames) {
		if int64(n) >= int64(len(r.pcs)) {
			return 0, fmt.Errorf("fs[%d]: frame %d of %d", i, n, len(r.pcs))
		}
		if r.pcs[n].known {
			at = r.t.Node(at, r.pcs[n].pc)
		}
	}
	return at, nil
}

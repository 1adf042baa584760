// Package massif reads massif.out files: see package export/massif. Snapshots become the timeline. The tree of the peak
// says what call stacks had live at the peak; the tree of the last snapshot, if it has one, what they had live at the
// end.
//
// Numbers of blocks and sums of allocations are unknown. Memory other than requested bytes (mem_heap_extra_B, stacks)
// is ignored.
package massif

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/merge"
)

// Is reports whether a file with this beginning is Massif's.
func Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte("desc: ")) && bytes.Contains(head, []byte("\ntime_unit: "))
}

// reader is the state of reading a file.
type reader struct {
	t        *merge.Imported
	unit     int64 // ns; 0: not known yet
	snapshot *snapshot
	most     *snapshot // with the most live bytes; of several the first one
	peak     *snapshot // the snapshot with the tree of the peak
	count    int
	stacks   map[int32]*merge.Numbers
	tree     *tree // being read
}

// snapshot is one moment.
type snapshot struct {
	number  int
	time    int64
	live    uint64
	hasTime bool
	hasLive bool
	kind    string
	stacks  map[int32]uint64 // live bytes; nil: it has no tree
}

// Read reads a file.
func Read(in io.Reader) (*merge.Imported, error) {
	r := &reader{t: merge.NewImported("massif"), stacks: make(map[int32]*merge.Numbers)}
	number, err := lines.Each(in, r.line)
	if err == nil {
		if err = r.endSnapshot(); err == nil && r.count == 0 {
			err = errors.New("the file ends without a snapshot")
		}
		if err != nil {
			err = fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err != nil {
		return nil, err
	}
	return r.t, r.finish()
}

func (r *reader) line(text string) error {
	if r.tree != nil {
		done, err := r.tree.line(r.t, text)
		if done {
			r.tree = nil
		}
		return err
	}
	if strings.HasPrefix(text, "#") || text == "" {
		return nil
	}
	if name, value, ok := strings.Cut(text, ": "); ok && r.snapshot == nil && r.count == 0 {
		return r.head(name, value)
	}
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%.80q is not understood", text)
	}
	if name == "snapshot" {
		if err := r.endSnapshot(); err != nil {
			return err
		}
		r.snapshot = &snapshot{number: r.count}
		return nil
	}
	if r.snapshot == nil {
		return fmt.Errorf("%.80q before the first snapshot", text)
	}
	return r.snapshot.field(r, name, value)
}

func (r *reader) head(name, value string) error {
	switch name {
	case "cmd":
		r.t.Process.Args = strings.Fields(value)
		if len(r.t.Process.Args) > 0 {
			r.t.Process.Exe = r.t.Process.Args[0]
		}
	case "time_unit":
		switch value {
		case "ms":
			r.unit = time.Millisecond.Nanoseconds()
		case "i", "B":
			r.unit = 1
			r.t.Note(map[string]string{"i": "Times are numbers of instructions, shown as nanoseconds.",
				"B": "Times are allocated and freed bytes, shown as nanoseconds."}[value])
		default:
			return fmt.Errorf("time_unit %.40q is unknown", value)
		}
	}
	return nil
}

func (s *snapshot) field(r *reader, name, value string) error {
	if name == "heap_tree" {
		if s.kind = value; value == "empty" {
			return nil
		}
		if value != "detailed" && value != "peak" {
			return fmt.Errorf("heap_tree %.40q is unknown", value)
		}
		s.stacks = make(map[int32]uint64)
		r.tree = &tree{stacks: s.stacks}
		return nil
	}
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return fmt.Errorf("%s: %.40q is not an integer", name, value)
	}
	switch name {
	case "time":
		s.time, s.hasTime = int64(min(n, math.MaxInt64/uint64(max(r.unit, 1))))*r.unit, true
	case "mem_heap_B":
		s.live, s.hasLive = n, true
	}
	return nil
}

// maxSnapshots limits the snapshots of a file; Massif keeps 100 by default.
const maxSnapshots = 1 << 16

// endSnapshot adds the current snapshot.
func (r *reader) endSnapshot() error {
	s := r.snapshot
	switch {
	case s == nil:
		return nil
	case r.tree != nil:
		return errors.New("the tree of the snapshot is incomplete")
	case r.unit == 0:
		return errors.New("time_unit is missing")
	case !s.hasTime || !s.hasLive || s.kind == "":
		return fmt.Errorf("snapshot %d is incomplete: it needs time, mem_heap_B and heap_tree", s.number)
	}
	if r.count++; r.count > maxSnapshots {
		return fmt.Errorf("more than %d snapshots", maxSnapshots)
	}
	r.t.At(merge.Moment{Time: s.time, Live: s.live})
	if r.most == nil || s.live > r.most.live {
		r.most = s
	}
	for stack, n := range s.stacks {
		r.of(stack).OwnPeak = max(r.of(stack).OwnPeak, n)
	}
	if s.stacks != nil && (r.peak == nil || s.kind == "peak" || r.peak.kind != "peak" && s.live > r.peak.live) {
		r.peak = s
	}
	return nil
}

func (r *reader) of(stack int32) *merge.Numbers {
	n := r.stacks[stack]
	if n == nil {
		n = &merge.Numbers{PeakKnown: true}
		r.stacks[stack] = n
	}
	return n
}

// finish adds the stacks. Bytes that are in no tree are added to the unknown stack.
func (r *reader) finish() error {
	r.t.Note("Numbers of blocks and sums of allocations are unknown: each call stack counts as one block, allocated " +
		"once.")
	if err := r.share(r.peak, r.most.live, func(n *merge.Numbers) *uint64 { return &n.Peak }); err != nil {
		return err
	}
	if err := r.share(r.snapshot, r.snapshot.live, func(n *merge.Numbers) *uint64 { return &n.Live }); err != nil {
		return err
	}
	r.t.Input.PeakTime = r.most.time
	for stack, n := range r.stacks {
		if err := r.t.Add(stack, n.Stack()); err != nil {
			return err
		}
	}
	return nil
}

// share distributes bytes among the stacks of a snapshot's tree.
func (r *reader) share(s *snapshot, bytes uint64, of func(*merge.Numbers) *uint64) error {
	sum := uint64(0)
	if s != nil {
		for stack, n := range s.stacks {
			*of(r.of(stack)) += n
			sum += n
		}
	}
	if sum > bytes {
		return fmt.Errorf("snapshot %d has %d bytes, but its tree has %d", s.number, bytes, sum)
	}
	if rest := bytes - sum; rest > 0 {
		*of(r.of(0)) += rest
	}
	return nil
}

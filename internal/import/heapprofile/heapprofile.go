// Package heapprofile reads the heap profiles in text that gperftools, jemalloc and, with debug=1, Go's
// /debug/pprof/heap write: for each call stack, live blocks and bytes, and, if they were counted, allocated ones; then
// the lines of /proc/self/maps, or the shorter ones of a "Memory map". Go has no such lines, but names the functions of
// each call stack after it.
//
// gperftools counts everything ("@ heapprofile") or, as jemalloc does, samples ("heap_v2/524288": the mean number of
// bytes between two samples). Samples are scaled up as in pprof and jeprof: n sampled blocks of a mean size s, each
// sampled with a probability of 1 - exp(-s/period), stand for n divided by that probability.
//
// Functions without names are looked up in the modules' files, if these exist. Whether they are the files that were
// running is unknown.
package heapprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/merge"
)

var (
	gperftoolsHead = lazy.Regexp(
		`^heap profile: *(\d+): *(\d+) *\[ *(\d+): *(\d+) *\] *@ *(heap[a-z0-9_]*|growthz?)(?:/(\d*))?$`)
	jemallocHead = lazy.Regexp(`^heap_v2/(\d+)$`)
)

// IsGperftools reports whether a file with this beginning is gperftools'.
func IsGperftools(head []byte) bool { return bytes.HasPrefix(head, []byte("heap profile:")) }

// IsJemalloc reports whether a file with this beginning is jemalloc's.
func IsJemalloc(head []byte) bool { return bytes.HasPrefix(head, []byte("heap_v2/")) }

// reader is the state of reading a file.
type reader struct {
	t       *merge.Imported
	line    func(text string) error // reads the next line
	period  float64                 // bytes; 0: not sampled
	stacks  stacks
	pending bool // jemalloc: a call stack was read, and its line of all threads was not
	any     bool // a call stack was read
	maps    maps
	counts  bool                     // the file has allocated blocks and bytes
	names   map[uint64][]event.Frame // from the file, by return address
	block   map[uint64][]event.Frame // of the latest call stack, not yet in names
	named   int                      // number of functions in block
}

// Read reads a file of gperftools or jemalloc. names looks up functions; nil: functions stay unknown.
func Read(in io.Reader, names Names) (*merge.Imported, error) {
	r := &reader{stacks: stacks{numbers: make(map[uint64]uint32)}, names: make(map[uint64][]event.Frame),
		block: make(map[uint64][]event.Frame)}
	r.line = r.head
	number, err := lines.Each(in, func(text string) error { return r.line(strings.TrimRight(text, "\r")) })
	switch {
	case err != nil:
		return nil, err
	case r.t == nil:
		return nil, fmt.Errorf("line %d: the file ends before it begins", number)
	case r.pending:
		return nil, fmt.Errorf("line %d: the file ends within a call stack", number)
	}
	if err := r.endBlock(); err != nil {
		return nil, err
	}
	if r.maps.list == nil && len(r.names) == 0 {
		r.t.Note("The file ends without the modules' addresses: functions are unknown.")
	}
	if err := r.finish(names); err != nil {
		return nil, err
	}
	return r.t, nil
}

func (r *reader) head(text string) error {
	if m := jemallocHead().FindStringSubmatch(text); m != nil {
		r.t, r.line = merge.NewImported("jemalloc"), r.jemalloc
		return r.sampled(m[1], 1)
	}
	m := gperftoolsHead().FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%.80q: expected the header of a heap profile", text)
	}
	r.t, r.line = merge.NewImported("gperftools"), r.gperftools
	r.counts = m[3] != "0" && (m[3] != m[1] || m[4] != m[2])
	switch m[5] {
	case "heapprofile":
		r.counts = true
		return nil
	case "heap": // its number is twice the period
		return r.sampled(m[6], 2)
	case "heap_v2", "heapz_v2":
		return r.sampled(m[6], 1)
	case "growth", "growthz":
		r.t.Note("A growth profile: it counts the memory that the allocator took from the system, at the calls that " +
			"caused it.")
		return nil
	}
	return fmt.Errorf("@ %.40s: not a profile of live memory", m[5])
}

// sampled takes the mean number of bytes between two samples, multiplied by times.
func (r *reader) sampled(text string, times float64) error {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return fmt.Errorf("%.40q is not a sampling period", text)
	}
	if r.period = float64(n) / times; r.period > 1 {
		r.t.Note(fmt.Sprintf("Sampled, one allocation in about %.0f bytes: numbers are estimates.", r.period))
	}
	return nil
}

// unsampled returns the numbers of blocks and bytes for which those of samples stand.
func (r *reader) unsampled(blocks, bytes uint64) (uint64, uint64, error) {
	if r.period <= 1 || blocks == 0 || bytes == 0 {
		return blocks, bytes, nil
	}
	scale := -1 / math.Expm1(-float64(bytes)/float64(blocks)/r.period)
	b, n := math.Round(float64(blocks)*scale), math.Round(float64(bytes)*scale)
	if !(b < math.MaxInt64 && n < math.MaxInt64) {
		return 0, 0, errors.New("the scaled numbers exceed 63 bits")
	}
	return uint64(b), uint64(n), nil
}

func (r *reader) gperftools(text string) error {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "#") {
		return r.comment(text)
	}
	if err := r.endBlock(); err != nil {
		return err
	}
	if done, err := r.libraries(text); done || err != nil {
		return err
	}
	numbers, rest, ok := fourNumbers(text)
	stack, at := strings.CutPrefix(strings.TrimLeft(rest, " "), "@")
	if !ok || !at {
		return fmt.Errorf("%.80q: expected live blocks and bytes, allocated ones and a call stack", text)
	}
	if err := r.stacks.begin(stack); err != nil {
		return fmt.Errorf("%.80q: %w", text, err)
	}
	return r.add(numbers)
}

// maxInlined limits the functions that may be named at the addresses of one call stack.
const maxInlined = 1 << 16

// comment takes a line after a call stack in which Go names one of its functions: the address of the call, function,
// file and line.
func (r *reader) comment(text string) error {
	at, f, ok := goFrame(text)
	if !ok {
		return nil
	}
	address, err := strconv.ParseUint(at, 16, 64)
	if err != nil || address == math.MaxUint64 {
		return fmt.Errorf("%.80q: invalid address", text)
	}
	returns := address + 1
	if _, known := r.names[returns]; known {
		return nil
	}
	if r.named++; r.named > maxInlined {
		return fmt.Errorf("more than %d functions of one call stack", maxInlined)
	}
	r.block[returns] = append(r.block[returns], f)
	return nil
}

// goFrame parses a line of the form "# 0xADDRESS FUNCTION+0xOFFSET FILE:LINE".
func goFrame(text string) (address string, f event.Frame, ok bool) {
	const blanks = " \t"
	rest := strings.TrimLeft(strings.TrimPrefix(text, "#"), blanks)
	if address, ok = strings.CutPrefix(rest, "0x"); !ok {
		return "", f, false
	}
	colon := strings.LastIndexByte(address, ':')
	end := strings.IndexAny(address, blanks)
	if end < 0 || colon < end {
		return "", f, false
	}
	line, err := strconv.ParseUint(address[colon+1:], 10, 32)
	if err != nil {
		return "", f, false
	}
	place := strings.TrimLeft(address[end:colon], blanks)
	address = address[:end]
	offset := strings.LastIndex(place, "+0x")
	if offset <= 0 {
		return "", f, false
	}
	blank := strings.IndexAny(place[offset:], blanks)
	if blank < 0 {
		return "", f, false
	}
	return address, event.Frame{Function: place[:offset], File: strings.TrimLeft(place[offset+blank:], blanks),
		Line: uint32(line)}, true
}

// endBlock keeps the names of a call stack. Of several functions at one address, all but the last one were inlined.
func (r *reader) endBlock() error {
	r.named = 0
	for at, frames := range r.block {
		for i := range frames[:len(frames)-1] {
			frames[i].Inlined = true
		}
		r.names[at] = frames
	}
	if len(r.names) > maxAddresses {
		return fmt.Errorf("functions at more than %d addresses", maxAddresses)
	}
	clear(r.block)
	return nil
}

func (r *reader) jemalloc(text string) error {
	if done, err := r.libraries(text); done || err != nil {
		return err
	}
	if stack, ok := strings.CutPrefix(text, "@"); ok {
		if r.pending {
			return errors.New("the call stack before has no line of all threads (t*)")
		}
		r.pending, r.any = true, true
		if err := r.stacks.begin(stack); err != nil {
			return fmt.Errorf("%.80q: %w", text, err)
		}
		return nil
	}
	thread, rest, _ := strings.Cut(strings.TrimLeft(text, " "), ":")
	numbers, _, ok := fourNumbers(rest)
	_, err := strconv.ParseUint(strings.TrimPrefix(thread, "t"), 10, 64)
	switch all := thread == "t*"; {
	case !ok || thread == "" || thread[0] != 't' || !all && err != nil:
		return fmt.Errorf("%.80q: expected a call stack, or blocks and bytes of a thread", text)
	case !all || !r.any: // a line of one thread, or the sums of all stacks
		return nil
	case !r.pending:
		return errors.New("a second line of all threads (t*) for one call stack")
	}
	r.pending = false
	if numbers[2] != "0" {
		r.counts = true
	}
	return r.add(numbers)
}

// add adds live and allocated blocks and bytes of the current call stack.
func (r *reader) add(numbers [4]string) error {
	var n [4]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(numbers[i], 10, 63); err != nil {
			return fmt.Errorf("%.40q is not a number of at most 63 bits", numbers[i])
		}
	}
	var s sample
	var err, err2 error
	s.liveBlocks, s.live, err = r.unsampled(n[0], n[1])
	s.allocations, s.bytes, err2 = r.unsampled(n[2], n[3])
	return errors.Join(err, err2, r.stacks.end(s))
}

// libraries reports whether a line has nothing about call stacks. After a title, the modules follow.
func (r *reader) libraries(text string) (bool, error) {
	if strings.TrimSpace(text) == "" {
		return true, nil
	}
	brief := strings.Contains(text, "--- Memory map: ---")
	if text != "MAPPED_LIBRARIES:" && !brief {
		return false, nil
	}
	if r.pending {
		return true, errors.New("the call stack before has no line of all threads (t*)")
	}
	r.line = r.maps.bounded(r.maps.line)
	if brief {
		r.line = r.maps.bounded(r.maps.briefLine)
	}
	return true, nil
}

// finish adds the call stacks.
func (r *reader) finish(names Names) error {
	if !r.counts {
		r.t.Note("Only live memory is known, not what was allocated and freed.")
	}
	r.t.Note("The peak is unknown: live bytes at the end are shown instead.")
	places := r.maps.places(r.t, r.stacks.addresses, r.names, names)
	for stack, s := range r.stacks.all() {
		named := slices.IndexFunc(stack, func(a uint32) bool { return places[a].named })
		stack = stack[max(named, 0):] // Go names all functions but its allocator's
		// Heaptap's call stacks begin with the caller of the allocator.
		for len(stack) > 1 && places[stack[0]].allocator {
			stack = stack[1:]
		}
		at := int32(0)
		for _, a := range slices.Backward(stack) {
			at = r.t.Node(at, places[a].id)
		}
		n := merge.Numbers{Live: s.live, LiveBlocks: s.liveBlocks}
		if r.counts {
			n.Allocations, n.Bytes = s.allocations, s.bytes
		}
		if err := r.t.Add(at, n.Stack()); err != nil {
			return err
		}
	}
	return nil
}

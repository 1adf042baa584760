// Package heapprofile reads the heap profiles in text that gperftools, jemalloc and, with debug=1, Go's
// /debug/pprof/heap write: for each call stack, blocks and bytes that are live, and, if that was counted, allocated;
// then the lines of /proc/self/maps, or the shorter ones of a "Memory map". Go has no such lines, but names the
// functions of each call stack behind it.
//
// gperftools counts all ("@ heapprofile") or, as jemalloc does, samples: with a mean of so many bytes between two
// samples ("heap_v2/524288"). What was sampled is scaled up as pprof and jeprof do: n blocks of a mean size s, of which
// each was sampled with a probability of 1 - exp(-s/period), stand for n divided by that.
//
// Functions that are not named are looked up in the modules' files, if they are there: whether these are still the ones
// that ran is unknown.
package heapprofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/import/lines"
	"github.com/heaptap/heaptap/internal/merge"
)

var (
	gperftoolsHead = regexp.MustCompile(`^heap profile: *(\d+): *(\d+) *\[ *(\d+): *(\d+) *\] *@ *(heap[a-z0-9_]*|growthz?)(?:/(\d*))?$`)
	jemallocHead   = regexp.MustCompile(`^heap_v2/(\d+)$`)
)

// IsGperftools reports whether a file that begins so is one of gperftools'.
func IsGperftools(head []byte) bool { return bytes.HasPrefix(head, []byte("heap profile:")) }

// IsJemalloc reports whether a file that begins so is one of jemalloc's.
func IsJemalloc(head []byte) bool { return bytes.HasPrefix(head, []byte("heap_v2/")) }

// reader is what was read so far.
type reader struct {
	t      *merge.Imported
	line   func(text string) error // reads the next line
	period float64                 // bytes; 0: nothing was sampled
	stacks stacks
	has    bool // jemalloc's: there is a stack of which the line of all threads is still to come
	any    bool // there was a stack
	maps   maps
	counts bool                     // what was allocated in sum is told
	names  map[uint64][]event.Frame // that the file has, by where calls return to
	block  map[uint64][]event.Frame // of the call stack that was read last, and not yet in names
	named  int                      // how many functions are in block
}

// Read reads a file of gperftools' or jemalloc's. names looks up functions; nil: they are left out.
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
	case r.has:
		return nil, fmt.Errorf("line %d: the file ends within a call stack", number)
	}
	if err := r.endBlock(); err != nil {
		return nil, err
	}
	if r.maps.list == nil && len(r.names) == 0 {
		r.t.Note("The file ends without the modules' addresses: functions are not known.")
	}
	if err := r.finish(names); err != nil {
		return nil, err
	}
	return r.t, nil
}

func (r *reader) head(text string) error {
	if m := jemallocHead.FindStringSubmatch(text); m != nil {
		r.t, r.line = merge.NewImported("jemalloc"), r.jemalloc
		return r.sampled(m[1], 1)
	}
	m := gperftoolsHead.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%.80q: the head of a heap profile is expected", text)
	}
	r.t, r.line = merge.NewImported("gperftools"), r.gperftools
	r.counts = m[3] != "0" && (m[3] != m[1] || m[4] != m[2])
	switch m[5] {
	case "heapprofile":
		r.counts = true
		return nil
	case "heap": // whose number is twice the period
		return r.sampled(m[6], 2)
	case "heap_v2", "heapz_v2":
		return r.sampled(m[6], 1)
	case "growth", "growthz":
		r.t.Note("A profile of growth: what counts is what the allocator took from the system, by the call that " +
			"made it do so.")
		return nil
	}
	return fmt.Errorf("@ %.40s: not a profile of live memory", m[5])
}

// sampled takes in the mean number of bytes between two samples, times something.
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

// unsampled are the numbers of blocks and bytes that those of samples stand for.
func (r *reader) unsampled(blocks, bytes uint64) (uint64, uint64, error) {
	if r.period <= 1 || blocks == 0 || bytes == 0 {
		return blocks, bytes, nil
	}
	scale := -1 / math.Expm1(-float64(bytes)/float64(blocks)/r.period)
	b, n := math.Round(float64(blocks)*scale), math.Round(float64(bytes)*scale)
	if !(b < math.MaxInt64 && n < math.MaxInt64) {
		return 0, 0, errors.New("the numbers stand for more than 63 bits hold")
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
		return fmt.Errorf("%.80q: live blocks and bytes, allocated ones and a call stack are expected", text)
	}
	if err := r.stacks.begin(stack); err != nil {
		return fmt.Errorf("%.80q: %w", text, err)
	}
	return r.add(numbers)
}

// maxInlined is how many functions may be named at the addresses of one call stack.
const maxInlined = 1 << 16

// comment takes in a line behind a call stack in which Go names one of its functions: the address of the call,
// function, file and line.
func (r *reader) comment(text string) error {
	at, f, ok := goFrame(text)
	if !ok {
		return nil
	}
	address, err := strconv.ParseUint(at, 16, 64)
	if err != nil || address == math.MaxUint64 {
		return fmt.Errorf("%.80q: the address is none", text)
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

// endBlock keeps the names of a call stack. Several functions at one address were inlined, but for the last one.
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
		if r.has {
			return errors.New("the line of all threads (t*) is missing of the call stack before")
		}
		r.has, r.any = true, true
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
		return fmt.Errorf("%.80q: a call stack, or blocks and bytes of a thread are expected", text)
	case !all || !r.any: // a single thread's; the sums of all stacks
		return nil
	case !r.has:
		return errors.New("a second line of all threads (t*) of one call stack")
	}
	r.has = false
	if numbers[2] != "0" {
		r.counts = true
	}
	return r.add(numbers)
}

// add takes in the live blocks and bytes, and the allocated ones, of the call stack that was begun.
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

// libraries reports whether a line says nothing of call stacks. After the title come the modules.
func (r *reader) libraries(text string) (bool, error) {
	if strings.TrimSpace(text) == "" {
		return true, nil
	}
	brief := strings.Contains(text, "--- Memory map: ---")
	if text != "MAPPED_LIBRARIES:" && !brief {
		return false, nil
	}
	if r.has {
		return true, errors.New("the line of all threads (t*) is missing of the call stack before")
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
		stack = stack[max(named, 0):] // Go names all but its allocator
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

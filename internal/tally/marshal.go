package tally

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/heaptap/heaptap/internal/event"
)

// The binary form of a Summary, all numbers as unsigned varints (encoding/binary's):
//
//	version    2; 3 if there are further totals; 4 if there are, and what was mapped; 5 with everything
//	totals     the fields of Totals in their order: Counts as below, then the others; Peak and Maps field by field
//	functions  n, then n call counts, by the value of event.Func; a reader that knows fewer adds the rest to [0]
//	stacks     n; if that is not 0: the unit of lifetimes, the number of columns, then the columns, see stackColumns
//	threads    n, then n times: mask, then as many numbers as the mask has bits set, in the order of Thread's fields; a
//	           number whose bit is 0 is 0
//	further    totals, with version 3: mask and numbers as for a thread, of Unrecorded, Samples, Untimed; with version
//	           2 they are 0
//	mapped     with version 4: live and peak bytes and the peak's time; n, then n times the fields of a Site; n, then n
//	           times of a Range the difference from the end of the one before to its start, its length, and its stack;
//	           with version 5, before all that: 1 if anything was mapped, else 0, and nothing of it follows
//	spread     with version 5, see Spread
//
// Counts are in the order of their fields, Lifetime as Hi, Lo. Times are never negative.
const (
	summaryVersion = 2
	summaryFurther = 3
	summaryMapped  = 4
	summarySpread  = 5
)

// Numbers of fields in the binary form.
const (
	countFields  = 16
	threadFields = 10
	callFields   = 3
)

func (c *Counts) fields() [countFields]*uint64 {
	return [...]*uint64{
		&c.Allocations, &c.Bytes, &c.Deallocations, &c.FreedBytes, &c.Failed, &c.Temporary, &c.TemporaryBytes,
		&c.Reallocations, &c.InPlace, &c.ZeroSize, &c.MinSize, &c.MaxSize, &c.Slack, &c.SlackCount,
		&c.Lifetime.Hi, &c.Lifetime.Lo,
	}
}

func (t *Thread) fields() [threadFields]*uint64 {
	return [...]*uint64{
		&t.Allocations, &t.Bytes, &t.Deallocations, &t.FreedBytes, &t.Foreign, &t.Temporary, &t.Failed, &t.Unmatched,
		&t.Inherited, &t.Unrecorded,
	}
}

func (c *Calls) fields() [callFields]*uint64 { return [...]*uint64{&c.Calls, &c.Failed, &c.Bytes} }

// fields returns all numbers except the times, which are signed, and the calls by function.
func (t *Totals) fields() (f []*uint64) {
	c := t.Counts.fields()
	f = append(f, c[:]...)
	f = append(f, &t.Events, &t.Unmatched, &t.Inherited, &t.Unseen, &t.Late, &t.LiveBytes, &t.LiveBlocks)
	f = append(f, &t.Peak.Bytes, &t.Peak.Blocks, &t.Peak.Event)
	m := &t.Maps
	for _, calls := range []*Calls{&m.Mmap, &m.Munmap, &m.Mremap, &m.Brk} {
		c := calls.fields()
		f = append(f, c[:]...)
	}
	return append(f, &m.RemappedBytes, &m.BrkReturned)
}

// further returns the numbers that most recordings do not have.
func (t *Totals) further() []*uint64 { return []*uint64{&t.Unrecorded, &t.Samples, &t.Untimed} }

// Marshal returns the summary's binary form.
func (s *Summary) Marshal() []byte {
	t := s.Totals
	further := t.Unrecorded|t.Samples|t.Untimed != 0
	b := binary.AppendUvarint(nil, summaryVersion)
	if further {
		b[0] = summaryFurther
	}
	if s.Mapped != nil {
		b[0], further = summaryMapped, true
	}
	if s.Spread != nil {
		b[0], further = summarySpread, true
	}
	for _, f := range t.fields() {
		b = binary.AppendUvarint(b, *f)
	}
	b = binary.AppendUvarint(b, uint64(t.LastTime))
	b = binary.AppendUvarint(b, uint64(t.Peak.Time))
	b = binary.AppendUvarint(b, uint64(len(t.Funcs)))
	for _, n := range t.Funcs {
		b = binary.AppendUvarint(b, n)
	}
	b = appendStacks(b, s.Stacks)
	b = binary.AppendUvarint(b, uint64(len(s.Threads)))
	for i := range s.Threads {
		th := s.Threads[i]
		f := th.fields()
		b = appendMasked(b, f[:])
	}
	if further {
		b = appendMasked(b, t.further())
	}
	if s.Spread != nil {
		mapped := byte(0)
		if s.Mapped != nil {
			mapped = 1
		}
		b = append(b, mapped)
	}
	if s.Mapped != nil {
		b = s.Mapped.append(b)
	}
	if s.Spread != nil {
		b = s.Spread.append(b)
	}
	return b
}

func (m *Mapped) append(b []byte) []byte {
	for _, n := range []uint64{m.LiveBytes, m.PeakBytes, uint64(m.PeakTime), uint64(len(m.Sites))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range m.Sites {
		s := &m.Sites[i]
		for _, n := range []uint64{uint64(s.Stack), s.Calls, s.Ended, s.Bytes, s.OwnPeak, s.LiveAtPeak} {
			b = binary.AppendUvarint(b, n)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(m.Ranges)))
	end := uint64(0)
	for _, r := range m.Ranges {
		for _, n := range []uint64{r.Start - end, r.End - r.Start, uint64(r.Stack)} {
			b = binary.AppendUvarint(b, n)
		}
		end = r.End
	}
	return b
}

func (d *decoder) mapped() *Mapped {
	m := &Mapped{LiveBytes: d.number("mapped bytes"), PeakBytes: d.number("mapped bytes"),
		PeakTime: d.time("time of the mapped peak")}
	m.Sites = make([]Site, d.count("mapping call stacks", 6))
	for i := range m.Sites {
		s := &m.Sites[i]
		s.Stack = d.stackID()
		for _, n := range []*uint64{&s.Calls, &s.Ended, &s.Bytes, &s.OwnPeak, &s.LiveAtPeak} {
			*n = d.number("mapping call stack")
		}
		if i > 0 && s.Stack <= m.Sites[i-1].Stack || s.Ended > s.Bytes {
			d.fail("mapping call stack", "impossible")
		}
	}
	if n := d.count("mapped ranges", 3); n > 0 {
		m.Ranges = make([]Range, n)
	}
	end := uint64(0)
	for i := range m.Ranges {
		start := end + d.number("mapped range")
		last := start + d.number("mapped range")
		if m.Ranges[i] = (Range{start, last, d.stackID()}); start < end || last <= start {
			d.fail("mapped range", "impossible")
		}
		end = last
	}
	return m
}

func (d *decoder) stackID() uint32 {
	n := d.number("call stack")
	if n > 1<<32-1 {
		d.fail("call stack", "impossible")
	}
	return uint32(n)
}

func appendMasked(b []byte, fields []*uint64) []byte {
	var mask uint64
	for i, f := range fields {
		if *f != 0 {
			mask |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, mask)
	for _, f := range fields {
		if *f != 0 {
			b = binary.AppendUvarint(b, *f)
		}
	}
	return b
}

// Unmarshal reads the binary form of a summary. Its memory is proportional to len(b), whatever b contains.
func Unmarshal(b []byte) (*Summary, error) {
	d := decoder{rest: b, size: len(b)}
	s := &Summary{}
	t := &s.Totals
	version := d.totals(t)
	s.Stacks = d.stacks()
	if n := d.count("threads", 1); n > 0 {
		s.Threads = make([]Thread, n)
	}
	for i := range s.Threads {
		f := s.Threads[i].fields()
		d.masked("thread", f[:])
	}
	if version >= summaryFurther {
		d.masked("further totals", t.further())
	}
	if version == summaryMapped || version == summarySpread && d.index("whether anything was mapped", 1) == 1 {
		s.Mapped = d.mapped()
	}
	if version == summarySpread {
		s.Spread = d.spread()
	}
	if d.err == nil && len(d.rest) > 0 {
		d.fail("end", fmt.Sprintf("%d bytes too many", len(d.rest)))
	}
	if d.err != nil {
		return nil, d.err
	}
	return s, nil
}

// UnmarshalLive reads of the binary form of a summary only what was live, and how much at most.
func UnmarshalLive(b []byte) (*Summary, error) {
	d := decoder{rest: b, size: len(b)}
	s := &Summary{}
	d.totals(&s.Totals)
	return s, d.err
}

// totals reads the beginning of a summary, and returns its version.
func (d *decoder) totals(t *Totals) (version uint64) {
	version = d.number("version")
	if d.err == nil && (version < summaryVersion || version > summarySpread) {
		d.err = fmt.Errorf("summary has version %d, this heaptap reads versions %d to %d: use a newer heaptap", version,
			summaryVersion, summarySpread)
	}
	for _, f := range t.fields() {
		*f = d.number("totals")
	}
	t.LastTime = d.time("last time")
	t.Peak.Time = d.time("time of the peak")
	for i := range d.count("functions", 1) {
		if n := d.number("calls"); i < int(event.FuncCount) {
			t.Funcs[i] = n
		} else {
			t.Funcs[event.FuncUnknown] += n
		}
	}
	return version
}

// decoder reads numbers. After the first error it returns zeros.
type decoder struct {
	rest []byte
	size int
	err  error
}

func (d *decoder) fail(what, problem string) {
	if d.err == nil {
		d.err = fmt.Errorf("summary is damaged: byte %d of %d, %s: %w", d.size-len(d.rest), d.size, what,
			errors.New(problem))
	}
}

func (d *decoder) number(what string) uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		problem := "number has more than 64 bits"
		if n == 0 {
			problem = "data end within it"
		}
		d.fail(what, problem)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) time(what string) int64 {
	v := d.number(what)
	if v > 1<<63-1 {
		d.fail(what, "negative")
		return 0
	}
	return int64(v)
}

// count reads the number of entries that follow; each takes at least size bytes.
func (d *decoder) count(what string, size int) int {
	v := d.number(what)
	if v > uint64(len(d.rest)/size) {
		d.fail(what, fmt.Sprintf("%d of them cannot fit into the %d bytes that follow", v, len(d.rest)))
		return 0
	}
	return int(v)
}

func (d *decoder) masked(what string, fields []*uint64) {
	mask := d.number(what)
	if d.err == nil && mask >= 1<<len(fields) {
		d.fail(what, "has numbers that this version does not know")
		return
	}
	for i, f := range fields {
		if mask>>i&1 != 0 {
			*f = d.number(what)
		}
	}
}

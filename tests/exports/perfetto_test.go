package exports

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// message is a message of Protocol Buffers: the values of its fields, by number, in order. A value is a number or
// bytes.
type message map[int][]protoValue

type protoValue struct {
	number uint64
	bytes  []byte
}

func parse(b []byte) (message, error) {
	m := message{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("no tag")
		}
		b = b[n:]
		var v protoValue
		switch tag & 7 {
		case 0:
			if v.number, n = binary.Uvarint(b); n <= 0 {
				return nil, fmt.Errorf("field %d: no number", tag>>3)
			}
		case 1:
			if n = 8; len(b) < n {
				return nil, fmt.Errorf("field %d: cut short", tag>>3)
			}
			v.number = binary.LittleEndian.Uint64(b)
		case 2:
			length, k := binary.Uvarint(b)
			if k <= 0 || length > uint64(len(b)-k) {
				return nil, fmt.Errorf("field %d: cut short", tag>>3)
			}
			v.bytes, n = b[k:k+int(length)], k+int(length)
		default:
			return nil, fmt.Errorf("field %d: wire type %d", tag>>3, tag&7)
		}
		b = b[n:]
		m[int(tag>>3)] = append(m[int(tag>>3)], v)
	}
	return m, nil
}

// number is that of a field that is there once; 0 if it is not.
func (m message) number(field int) uint64 {
	if len(m[field]) == 0 {
		return 0
	}
	return m[field][len(m[field])-1].number
}

func (m message) text(field int) string {
	if len(m[field]) == 0 {
		return ""
	}
	return string(m[field][len(m[field])-1].bytes)
}

// each calls f for the messages of a field.
func (m message) each(t *testing.T, field int, f func(m message)) {
	t.Helper()
	for _, v := range m[field] {
		one, err := parse(v.bytes)
		if err != nil {
			t.Fatalf("field %d: %v", field, err)
		}
		f(one)
	}
}

// heapProfile is what one heap profile of a trace sums up to.
type heapProfile struct {
	at                               uint64
	bytes, freed, allocations, frees uint64
	leaves                           map[string]uint64 // bytes of the functions that allocated
	seen                             map[uint64]bool
	deepest                          int
}

// perfettoTrace is the content of a trace's packets, interpreted in their order, as the trace processor does.
type perfettoTrace struct {
	t        *testing.T
	strings  map[int]map[uint64]string // by field of InternedData
	mappings map[uint64]string
	frames   map[uint64]string // functions
	stacks   map[uint64][]uint64
	paths    map[string]bool // frames of call stacks
	clocks   map[uint64]uint64
	tracks   map[uint64]string
	counters map[string][]uint64
	times    map[string][]uint64
	instants map[string]uint64
	profiles []heapProfile
	index    uint64
	open     bool // the last profile continues in the next packet
}

func readTrace(t *testing.T, b []byte) *perfettoTrace {
	p := &perfettoTrace{t: t, strings: map[int]map[uint64]string{}, mappings: map[uint64]string{},
		frames: map[uint64]string{}, stacks: map[uint64][]uint64{}, paths: map[string]bool{},
		clocks: map[uint64]uint64{}, tracks: map[uint64]string{}, counters: map[string][]uint64{},
		times: map[string][]uint64{}, instants: map[string]uint64{}}
	trace, err := parse(b)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	trace.each(t, 1, func(packet message) {
		// Names of numbers hold within one sequence, from where its state is cleared.
		if packet.number(10) != 1 || packet.number(13)&1 != 0 != first || packet.number(13)&2 == 0 {
			t.Errorf("a packet of sequence %d with flags %d", packet.number(10), packet.number(13))
		}
		first = false
		packet.each(t, 6, p.clock)
		packet.each(t, 60, p.track)
		packet.each(t, 12, p.interned)
		packet.each(t, 11, func(m message) { p.event(packet.number(8), m) })
		packet.each(t, 37, p.profile)
	})
	if p.open {
		t.Error("the last profile ends nowhere")
	}
	return p
}

func (p *perfettoTrace) clock(m message) {
	m.each(p.t, 1, func(c message) { p.clocks[c.number(1)] = c.number(2) })
}

func (p *perfettoTrace) track(m message) {
	name := m.text(2)
	m.each(p.t, 3, func(process message) { name = "process " + fmt.Sprint(process.number(1)) })
	if m.number(1) == 0 || p.tracks[m.number(1)] != "" || name == "" {
		p.t.Errorf("track %d: %q", m.number(1), name)
	}
	if parent := m.number(5); parent != 0 && p.tracks[parent] == "" {
		p.t.Errorf("track %q is below an unknown one", name)
	}
	p.tracks[m.number(1)] = name
}

func (p *perfettoTrace) interned(m message) {
	for _, field := range []int{5, 16, 17, 18} {
		m.each(p.t, field, func(s message) {
			if p.strings[field] == nil {
				p.strings[field] = map[uint64]string{}
			}
			if _, twice := p.strings[field][s.number(1)]; twice || s.number(1) == 0 {
				p.t.Errorf("string %d of %d: given out twice, or 0", s.number(1), field)
			}
			p.strings[field][s.number(1)] = s.text(2)
		})
	}
	m.each(p.t, 19, func(s message) {
		path, known := p.strings[17][s.number(7)]
		if !known {
			p.t.Errorf("mapping %d has no path", s.number(1))
		}
		p.mappings[s.number(1)] = path
	})
	m.each(p.t, 6, func(f message) {
		name, known := p.strings[5][f.number(2)]
		if _, mapped := p.mappings[f.number(3)]; !known || !mapped || len(f[4]) != 1 {
			p.t.Errorf("frame %d: function %d, mapping %d", f.number(1), f.number(2), f.number(3))
		}
		p.frames[f.number(1)] = name
	})
	m.each(p.t, 7, func(s message) {
		// The trace processor knows call stacks by their frames.
		if frames := fmt.Sprint(s[2]); p.paths[frames] {
			p.t.Errorf("call stack %d reads like another one", s.number(1))
		} else {
			p.paths[frames] = true
		}
		for _, v := range s[2] {
			if _, known := p.frames[v.number]; !known {
				p.t.Errorf("call stack %d: frame %d is unknown", s.number(1), v.number)
			}
			p.stacks[s.number(1)] = append(p.stacks[s.number(1)], v.number)
		}
	})
}

func (p *perfettoTrace) event(at uint64, m message) {
	track := p.tracks[m.number(11)]
	if at < p.clocks[6] {
		p.t.Errorf("an event of %q before the beginning", track)
	}
	switch m.number(9) {
	case 3:
		p.instants[m.text(23)] = at
	case 4:
		p.counters[track] = append(p.counters[track], m.number(30))
		p.times[track] = append(p.times[track], at)
	default:
		p.t.Errorf("an event of type %d", m.number(9))
	}
}

func (p *perfettoTrace) profile(m message) {
	if m.number(7) != p.index {
		p.t.Errorf("profile packet %d has number %d", p.index, m.number(7))
	}
	p.index++
	m.each(p.t, 5, func(dump message) {
		if !p.open {
			p.profiles = append(p.profiles, heapProfile{at: dump.number(9), leaves: map[string]uint64{},
				seen: map[uint64]bool{}})
		}
		h := &p.profiles[len(p.profiles)-1]
		if dump.text(11) != "libc.malloc" || dump.number(9) != h.at {
			p.t.Errorf("heap %q at %d", dump.text(11), dump.number(9))
		}
		dump.each(p.t, 2, func(s message) {
			frames := p.stacks[s.number(1)]
			if len(frames) == 0 {
				p.t.Fatalf("a sample of the unknown call stack %d", s.number(1))
			}
			if h.seen[s.number(1)] {
				p.t.Errorf("call stack %d is there twice", s.number(1))
			}
			h.seen[s.number(1)] = true
			h.bytes, h.freed = h.bytes+s.number(2), h.freed+s.number(3)
			h.allocations, h.frees = h.allocations+s.number(5), h.frees+s.number(6)
			h.deepest = max(h.deepest, len(frames))
			if n := s.number(2); n > 0 {
				h.leaves[p.frames[frames[len(frames)-1]]] += n // the root comes first
			}
		})
	})
	p.open = m.number(6) != 0
}

// TestPerfetto reads the packets with a reader of the test's own.
func TestPerfetto(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		file := exported(t, "perfetto", path)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := readTrace(t, b)
		want := totals(t, path)
		for _, id := range []uint64{1, 3, 4, 6} {
			if p.clocks[id] == 0 || p.clocks[id] != p.clocks[6] {
				t.Errorf("clock %d is at %d", id, p.clocks[id])
			}
		}
		end := p.profiles[len(p.profiles)-1]
		if end.bytes != want["bytes"] || end.freed != want["freed"] || end.allocations != want["allocations"] ||
			end.frees != want["deallocations"] {
			t.Errorf("at the end: %d %d %d %d, expected %v", end.bytes, end.freed, end.allocations, end.frees, want)
		}
		sameSelves(t, "bytes", end.leaves, selves(t, path, "bytes"))
		if name == "torture" && end.deepest != 5000 {
			t.Errorf("the deepest call stack has %d frames", end.deepest)
		}
		for _, h := range p.profiles[:len(p.profiles)-1] {
			if h.bytes-h.freed != want["peak"] || h.allocations-h.frees != want["peak-blocks"] ||
				h.at != p.instants["peak"] {
				t.Errorf("at the peak: %d bytes, %d blocks; expected %v", h.bytes-h.freed, h.allocations-h.frees, want)
			}
		}
		if len(p.profiles) != 2 && (name == "sqlite" || name == "four") {
			t.Errorf("%d profiles", len(p.profiles))
		}
		checkCounters(t, p, want)
	})
}

func checkCounters(t *testing.T, p *perfettoTrace, want map[string]uint64) {
	t.Helper()
	for name, last := range map[string]uint64{"live bytes": want["live"], "live blocks": want["live-blocks"],
		"allocations": want["allocations"], "allocated bytes": want["bytes"]} {
		list := p.counters[name]
		if len(list) == 0 || list[len(list)-1] != last {
			t.Errorf("%s: %d values, the last is not %d", name, len(list), last)
		}
	}
	most, at := uint64(0), uint64(0)
	for i, n := range p.counters["live bytes"] {
		if n > most {
			most, at = n, p.times["live bytes"][i]
		}
	}
	if most != want["peak"] || most > 0 && at != p.instants["peak"] {
		t.Errorf("live bytes: %d at %d, expected %d at %d", most, at, want["peak"], p.instants["peak"])
	}
}

// TestPerfettoHidden hides functions that distinguish call stacks, and asks for another moment.
func TestPerfettoHidden(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		b, err := os.ReadFile(exported(t, "perfetto", path, "--hide", ".", "--at", "3us"))
		if err != nil {
			t.Fatal(err)
		}
		p, want := readTrace(t, b), totals(t, path)
		last := p.profiles[len(p.profiles)-1]
		// One, and one of code that has no name to be hidden by.
		if last.bytes != want["bytes"] || last.freed != want["freed"] || len(p.stacks) > 2 {
			t.Errorf("%d bytes, %d freed, %d call stacks; expected %v", last.bytes, last.freed, len(p.stacks), want)
		}
		if first := &p.profiles[0]; name == "torture" &&
			(len(p.profiles) != 3 || first.bytes != 2001 || first.freed != 1000) {
			t.Errorf("%d profiles; at 3 µs %d bytes, %d freed", len(p.profiles), first.bytes, first.freed)
		}
		for i := range p.profiles[1:] {
			if a, b := &p.profiles[i], &p.profiles[i+1]; a.at > b.at || a.bytes > b.bytes || a.freed > b.freed {
				t.Errorf("profile %d is not of an earlier moment than the next", i)
			}
		}
	})
}

// perfettoSchema are the messages as Perfetto's public protocol has them, as far as they are used here.
const perfettoSchema = "testdata/perfetto.proto"

// TestPerfettoProtoc has protoc decode a trace: each field is known and of the right type.
func TestPerfettoProtoc(t *testing.T) {
	protoc := need.Tool(t, "protoc")
	each(t, func(t *testing.T, name, path string) {
		in, err := os.Open(exported(t, "perfetto", path))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd := exec.Command(protoc, "--decode=Trace", "-I", filepath.Dir(perfettoSchema), filepath.Base(perfettoSchema))
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%.500s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			// The number of an unknown field.
			if field := strings.TrimSpace(line); field != "" && field[0] >= '0' && field[0] <= '9' {
				t.Errorf("unknown field: %s", field)
				break
			}
		}
	})
}

package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// A script is a list of ops, one a line: TIME STREAM VERB [ADDRESS [SIZE]] [late]. Streams and addresses are letters;
// thread A has the streams A and a. "-" is address null. Verbs: malloc, free, begin, result, mmap; barrier and finish
// stand alone. events writes what comes of it in the same manner, with the number of the allocation as #N.
type script struct {
	ledger *Ledger
	out    []string
}

func (s *script) emit(e *Event) {
	who := string(rune('A' + e.Thread))
	var line string
	switch e.Kind {
	case event.Alloc:
		line = fmt.Sprintf("%d %s alloc %s %d", e.Time, who, addrName(e.Addr), e.Size)
	case event.Free:
		line = fmt.Sprintf("%d %s free %s %d #%d born %d by %c",
			e.Time, who, addrName(e.Addr), e.Size, e.Ref, e.Born, 'A'+rune(e.BornBy))
		if e.Func == event.FuncUnknown {
			line += " unseen"
		}
	case event.Unmatched:
		line = fmt.Sprintf("%d %s unmatched %s", e.Time, who, addrName(e.Addr))
	case event.Inherited:
		line = fmt.Sprintf("%d %s inherited %s", e.Time, who, addrName(e.Addr))
	case event.Fail:
		line = fmt.Sprintf("%d %s fail %d", e.Time, who, e.Size)
	case event.Map:
		line = fmt.Sprintf("%d %s map %s", e.Time, who, addrName(e.Addr))
	}
	for _, f := range []struct {
		flag event.Flags
		name string
	}{{event.Realloc, "realloc"}, {event.InPlace, "inplace"}, {event.Temporary, "temporary"}, {event.Late, "late"}} {
		if e.Flags&f.flag != 0 {
			line += " " + f.name
		}
	}
	s.out = append(s.out, line)
}

func addrOf(name string) uint64 {
	if name == "-" {
		return 0
	}
	return 0x1000 * uint64(name[0]-'a'+1)
}

func addrName(addr uint64) string {
	if addr == 0 {
		return "-"
	}
	return string(rune('a' - 1 + addr/0x1000))
}

func events(t *testing.T, forked bool, text string) (string, *Ledger) {
	t.Helper()
	return eventsOf(t, forked, 0, text)
}

func eventsOf(t *testing.T, forked bool, skew int64, text string) (string, *Ledger) {
	t.Helper()
	s := &script{ledger: New(forked)}
	s.ledger.Skew = skew
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "barrier":
			s.ledger.BarrierTo(s.emit)
		case f[0] == "finish":
			s.ledger.FinishTo(s.emit)
		case f[0] == "|": // a mark in the output: what comes after is written after
			s.out = append(s.out, "|")
		default:
			s.ledger.Add(parseOp(t, f), s.emit)
		}
	}
	return strings.Join(s.out, "\n"), s.ledger
}

func parseOp(t *testing.T, f []string) *Op {
	t.Helper()
	time, err := strconv.Atoi(f[0])
	if err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	op := &Op{Time: int64(time), Stream: uint32(f[1][0]), Thread: uint32(strings.ToUpper(f[1])[0] - 'A')}
	if f[len(f)-1] == "late" {
		op.Late = true
		f = f[:len(f)-1]
	}
	op.Addr = addrOf(f[3])
	if len(f) > 4 {
		if op.Size, err = strconv.ParseUint(f[4], 10, 64); err != nil {
			t.Fatalf("%v: %v", f, err)
		}
	}
	switch f[2] {
	case "malloc":
		op.Kind, op.Func = OpAlloc, event.Malloc
	case "free":
		op.Kind, op.Func = OpFree, event.FreeFunc
	case "begin":
		op.Kind, op.Func = OpReallocBegin, event.ReallocFunc
	case "result":
		op.Kind, op.Func = OpReallocResult, event.ReallocFunc
	case "mmap":
		op.Kind, op.Func = OpMap, event.Mmap
	default:
		t.Fatalf("%v: unknown verb", f)
	}
	return op
}

func trim(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

type scriptCase struct {
	name   string
	forked bool
	ops    string
	want   string
	counts Counts
}

func runScripts(t *testing.T, cases []scriptCase) {
	t.Parallel()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, l := events(t, c.forked, c.ops)
			if d := cmp.Diff(trim(c.want), got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.counts, l.Counts()); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}

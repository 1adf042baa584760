package ledger_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/tally"
)

// example runs one example of docs/definitions.md.
type example struct {
	ledger *ledger.Ledger
	sum    *tally.Tally
	last   event.Event
	vars   map[string]uint64
	stacks map[string]uint32
	size   uint64 // of the realloc that has begun
}

var line = regexp.MustCompile(`^(\d+) ([AB]) (?:(\w+) = )?(\w+|its result)(?:\((\w+)(?:, (\w+))?\))?` +
	`( fails| frees| begins)?(?: at (?:([ST])|(\w)'s address))?(?: +# (.*))?$`)

func (x *example) emit(e *ledger.Event) {
	x.last = e.Event
	x.sum.Add(&e.Event)
}

// addr is the address that a name stands for, a new one if it stands for none yet.
func (x *example) addr(name string) uint64 {
	if name == "" {
		return 0
	}
	if x.vars[name] == 0 {
		x.vars[name] = 0x1000 + 16*uint64(len(x.vars))
	}
	return x.vars[name]
}

// run executes a line and returns what the page says of it.
func (x *example) run(text string) (says string, err error) {
	m := line.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%q is no line of an example", text)
	}
	name, verb, argument, second, how, stack, place := m[3], m[4], m[5], m[6], m[7], m[8], m[9]
	time, _ := strconv.ParseInt(m[1], 10, 64)
	thread := uint32(m[2][0] - 'A')
	if place != "" {
		x.vars[name] = x.addr(place)
	}
	if stack != "" {
		x.stacks[stack] = uint32(stack[0])
	}
	add := func(kind ledger.OpKind, f event.Func, addr, size uint64) {
		op := ledger.Op{Time: time, Kind: kind, Func: f, Thread: thread, Stream: thread, Addr: addr, Size: size}
		op.Stack = x.stacks[stack]
		x.ledger.Add(&op, x.emit)
	}
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if s == "huge" || err != nil {
			return 1 << 60
		}
		return n
	}
	switch verb {
	case "malloc":
		add(ledger.OpAlloc, event.Malloc, x.addr(name), number(argument))
	case "free":
		add(ledger.OpFree, event.FreeFunc, x.addr(argument), 0)
	case "realloc":
		x.size = number(second)
		add(ledger.OpReallocBegin, event.ReallocFunc, x.addr(argument), 0)
		if how != " begins" {
			add(ledger.OpReallocResult, event.ReallocFunc, x.addr(name), x.size)
		}
	case "its result":
		add(ledger.OpReallocResult, event.ReallocFunc, x.addr(name), x.size)
	default:
		return "", fmt.Errorf("%q: unknown verb %q", text, verb)
	}
	x.ledger.BarrierTo(x.emit) // a moment without other threads
	x.ledger.BarrierTo(x.emit)
	return m[10], nil
}

// holds checks what the page says of a line.
func (x *example) holds(says string) error {
	if n := strings.TrimPrefix(says, "live "); n != says {
		digits := n[:len(n)-len(strings.TrimLeft(n, "0123456789"))]
		if _, bytes := x.ledger.Live(); strconv.FormatUint(bytes, 10) != digits {
			return fmt.Errorf("%d bytes are live", bytes)
		}
		if t := x.sum.Totals(); strings.HasSuffix(says, "the peak") && t.Peak.Event != t.Events {
			return fmt.Errorf("this is not the peak: %+v", t.Peak)
		}
		return nil
	}
	temporary := x.last.Flags&event.Temporary != 0
	ok := false
	switch says, _, _ = strings.Cut(says, ":"); says {
	case "temporary":
		ok = x.last.Kind == event.Free && temporary
	case "not temporary":
		ok = x.last.Kind == event.Free && !temporary
	case "unmatched":
		ok = x.last.Kind == event.Unmatched
	case "inherited":
		ok = x.last.Kind == event.Inherited
	case "":
		ok = true
	}
	if !ok {
		return fmt.Errorf("it is not %s: %+v", says, x.last)
	}
	return nil
}

// sums checks what the page says of the whole: "number 5, other 3; S: number 1", where a letter names a call stack or
// a thread.
func (x *example) sums(text string) error {
	of := x.numbers("")
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		part = strings.TrimSpace(part)
		if who, rest, ok := strings.Cut(part, ": "); ok {
			of, part = x.numbers(who), rest
		} else if _, ok := of[nameOf(part)]; !ok {
			of = x.numbers("")
		}
		got, ok := of[nameOf(part)]
		if want := part[strings.LastIndexByte(part, ' ')+1:]; !ok || fmt.Sprint(got) != want {
			return fmt.Errorf("%s: got %d (%t)", part, got, ok)
		}
	}
	return nil
}

func nameOf(part string) string { return part[:max(0, strings.LastIndexByte(part, ' '))] }

// numbers are the process's, a call stack's (S, T) or a thread's (A, B), under the names that the page uses.
func (x *example) numbers(who string) map[string]uint64 {
	all := x.sum.Totals()
	counts := func(c *tally.Counts) map[string]uint64 {
		return map[string]uint64{
			"allocations": c.Allocations, "deallocations": c.Deallocations, "bytes": c.Bytes, "failed": c.Failed,
			"temporary": c.Temporary, "reallocations": c.Reallocations, "in place": c.InPlace,
			"leaked": c.LeakedBytes(), "leaked blocks": c.LeakedBlocks(), "mean lifetime": uint64(c.MeanLifetime()),
		}
	}
	switch who {
	case "S", "T":
		s := x.sum.Stack(uint32(who[0]))
		m := counts(&s.Counts)
		m["own peak"], m["live at peak"] = s.OwnPeakBytes, s.LiveAtPeakBytes
		return m
	case "A", "B":
		t := x.sum.Threads()[who[0]-'A']
		return map[string]uint64{"allocations": t.Allocations, "deallocations": t.Deallocations, "foreign": t.Foreign,
			"temporary": t.Temporary, "unmatched": t.Unmatched}
	}
	m := counts(&all.Counts)
	m["peak"], m["peak blocks"], m["peak time"] = all.Peak.Bytes, all.Peak.Blocks, uint64(all.Peak.Time)
	m["unmatched"], m["inherited"], m["unseen"] = all.Unmatched, all.Inherited, all.Unseen
	return m
}

// TestExamples runs the examples of docs/definitions.md and compares with what that page says.
func TestExamples(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/definitions.md")
	if err != nil {
		t.Fatal(err)
	}
	var x *example
	examples, statements := 0, 0
	for i, text := range strings.Split(string(b), "\n") {
		text, indented := strings.CutPrefix(text, "    ")
		sum, isSum := strings.CutPrefix(text, "=> ")
		switch {
		case !indented:
			x = nil
			continue
		case strings.HasPrefix(text, "live b"): // two formulas
			continue
		case x == nil:
			forked := text == "(a forked child)"
			x = &example{ledger: ledger.New(forked), sum: tally.New(), vars: map[string]uint64{}}
			x.stacks = map[string]uint32{"": 1}
			examples++
			if forked {
				continue
			}
		}
		if isSum {
			statements++
			err = x.sums(sum)
		} else {
			var says string
			if says, err = x.run(text); err == nil && says != "" {
				statements++
				err = x.holds(says)
			}
		}
		if err != nil {
			t.Errorf("docs/definitions.md:%d: %s: %v", i+1, text, err)
		}
	}
	if examples < 10 || statements < 40 {
		t.Errorf("only %d examples with %d statements were found", examples, statements)
	}
}

package tally

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/event"
)

// fill sets every number below v to one of its own and returns how many there are.
func fill(v reflect.Value, next uint64) uint64 {
	switch v.Kind() {
	case reflect.Uint64, reflect.Uint32:
		next++
		v.SetUint(next)
	case reflect.Int64:
		next++
		v.SetInt(int64(next))
	case reflect.Pointer:
		next = fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			next = fill(v.Field(i), next)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			next = fill(v.Index(i), next)
		}
	default:
		panic("a field of type " + v.Type().String() + " is not stored")
	}
	return next
}

func full() *Summary {
	s := &Summary{Stacks: make([]Stack, 3), Threads: make([]Thread, 2),
		Mapped: &Mapped{Sites: make([]Site, 2), Ranges: make([]Range, 2)}}
	spread := &Spread{}
	s.Spread = spread
	fill(reflect.ValueOf(s).Elem(), 0)
	spread.Crossings = []Crossing{{0, 1, Bucket{3, 4}}, {0, Nobody, Bucket{5, 6}}, {Together, 0, Bucket{7, 8}},
		{Together, Together, Bucket{9, 10}}}
	return s
}

// TestMarshal stores a summary in which every number differs: a field that is forgotten shows.
func TestMarshal(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*Summary{
		"empty":   {},
		"full":    full(),
		"spread":  {Spread: &Spread{Lifetimes: [Classes]Bucket{64: {1, 2}}}},
		"extreme": {Totals: Totals{Counts: Counts{Bytes: ^uint64(0)}}, Stacks: []Stack{{ID: 0}, {ID: ^uint32(0)}}},
	} {
		got, err := Unmarshal(s.Marshal())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(s, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestUnmarshalDamaged(t *testing.T) {
	t.Parallel()
	whole := full().Marshal()
	for n := range whole {
		if _, err := Unmarshal(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are no summary, but no error", n, len(whole))
		}
	}
	empty := (&Summary{}).Marshal()
	spreadless := empty          // but for two bytes: that there are no further totals, and that nothing was mapped
	head := empty[:len(empty)-2] // without the counts of stacks and threads
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"newer", []byte{9}, "use a newer heaptap"},
		{"empty", nil, "byte 0 of 0, version: data end"},
		{"too many", append(bytes.Clone(whole), 0), "1 bytes too many"},
		{"stacks that do not fit", binary.AppendUvarint(bytes.Clone(head), 1<<40), "cannot fit"},
		{"order", append(append(bytes.Clone(head), 2, 1, 20, 1, 0), make([]byte, 60)...), "not in order"},
		{"few columns", append(append(bytes.Clone(head), 1, 1, 19), make([]byte, 60)...), "cannot be so many"},
		{"many columns", append(append(bytes.Clone(head), 1, 1, 70), make([]byte, 60)...), "cannot be so many"},
		{"mask of a thread", append(bytes.Clone(head), 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0), "does not know"},
		{"class twice", append((&Summary{Spread: &Spread{}}).Marshal()[:len(spreadless)+2], 2, 5, 1, 1, 5, 1, 1, 0, 0),
			"class: impossible"},
		{"class", append((&Summary{Spread: &Spread{}}).Marshal()[:len(spreadless)+2], 1, 65, 1, 1, 0, 0),
			"class: impossible"},
		{"crossing", append((&Summary{Spread: &Spread{}}).Marshal()[:len(spreadless)+4], 1, 64, 1, 1, 1),
			"crossing: impossible"},
		{"overlong", bytes.Repeat([]byte{0xff}, 20), "more than 64 bits"},
	} {
		_, err := Unmarshal(c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// TestUnmarshalMoreFunctions reads what a later heaptap wrote that knows one function more.
func TestUnmarshalMoreFunctions(t *testing.T) {
	t.Parallel()
	b := (&Summary{}).Marshal()
	n := len(b) - 2 - int(event.FuncCount) // of what comes before the functions' calls
	b = append(bytes.Clone(b[:n-1]), byte(event.FuncCount)+1)
	b = append(b, make([]byte, event.FuncCount)...)
	b = append(b, 5, 0, 0)
	s, err := Unmarshal(b)
	if err != nil || s.Totals.Funcs[event.FuncUnknown] != 5 {
		t.Errorf("got %v, %v, want 5 calls of unknown functions", s, err)
	}
}

// TestUnmarshalMoreColumns reads what a later heaptap wrote that knows one number more of a stack.
func TestUnmarshalMoreColumns(t *testing.T) {
	t.Parallel()
	head := (&Summary{}).Marshal()
	b := append(bytes.Clone(head[:len(head)-2]), 2, 1, 21) // stacks, unit, columns
	b = append(b, 3, 1)                                    // ids
	b = append(b, 10, 12)                                  // allocations
	b = append(b, make([]byte, 2*18)...)
	b = append(b, 77, 78, 0) // the unknown one; no threads
	s, err := Unmarshal(b)
	if err != nil || len(s.Stacks) != 2 || s.Stacks[1].ID != 4 || s.Stacks[1].Allocations != 6 {
		t.Errorf("got %+v, %v, want stacks 3 and 4 with 5 and 6 allocations", s, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add((&Summary{}).Marshal())
	f.Add(full().Marshal())
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Unmarshal(b)
		if err != nil {
			return
		}
		again, err := Unmarshal(s.Marshal())
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if d := cmp.Diff(s, again); d != "" {
			t.Fatal(d)
		}
	})
}

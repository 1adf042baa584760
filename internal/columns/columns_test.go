package columns_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/columns/columnstest"
)

type answer struct {
	Head
	Note    string            `json:"note,omitempty"`
	Big     uint64            `json:"big"`
	Least   int64             `json:"least"`
	Ratio   float64           `json:"ratio"`
	On      bool              `json:"on"`
	None    *sub              `json:"none"`
	One     *sub              `json:"one"`
	Names   []string          `json:"names"`
	Times   []int64           `json:"times"`
	Calls   map[string]uint64 `json:"calls"`
	Rows    []row             `json:"rows"`
	Lazy    lazy              `json:"lazy"`
	Metrics metrics           `json:"metrics"`
	hidden  int
}

// Head is embedded.
type Head struct {
	Plan string `json:"plan"`
}

type sub struct {
	A uint32 `json:"a"`
	B string `json:"b"`
}

type row struct {
	Parent int      `json:"parent"`
	Name   string   `json:"name"`
	Text   *string  `json:"text"`
	Known  *uint64  `json:"known"`
	On     bool     `json:"on,omitempty"`
	Stack  stack    `json:"stack"`
	Group  *sub     `json:"group"`
	Inner  sub      `json:"inner"`
	Words  []string `json:"words"`
	Subs   []sub    `json:"subs"`
	Of     metrics  `json:"of"`
	Maybe  maybe    `json:"maybe"`
	By     by       `json:"by"`
}

type by map[string]sub

type stack []int

func (s stack) AppendFrames(list []int) []int { return append(list, s...) }

type metrics struct{ peak, churn float64 }

func (m metrics) Names() []string { return []string{"peak", "churn", "never"} }

func (m metrics) Cells(list []columns.Cell) []columns.Cell {
	return append(list, columns.Uint(uint64(m.peak)), columns.Real(m.churn), columns.Cell{})
}

func (m metrics) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"peak": m.peak, "churn": m.churn})
}

type maybe struct{ n uint64 }

func (m maybe) Cell() columns.Cell {
	if m.n == 0 {
		return columns.Cell{}
	}
	return columns.Uint(m.n)
}

func (m maybe) MarshalJSON() ([]byte, error) {
	if m.n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(m.n)
}

type lazy struct{ n int }

func (l lazy) Len() int     { return l.n }
func (l lazy) At(i int) sub { return sub{uint32(i), "x"} }
func (l lazy) Slice() any   { return l.all() }
func (l lazy) all() []sub {
	list := make([]sub, l.n)
	for i := range list {
		list[i] = l.At(i)
	}
	return list
}
func (l lazy) MarshalJSON() ([]byte, error) { return json.Marshal(l.all()) }

// TestEncode: what is encoded has the values that package json writes.
func TestEncode(t *testing.T) {
	t.Parallel()
	shared, text, known := &sub{7, "shared"}, "</script> \u2028 \xff", uint64(1<<53+1)
	full := &answer{Head: Head{"tally"}, Big: math.MaxUint64, Least: math.MinInt64, Ratio: 1e-7, On: true,
		One: &sub{1, "one"}, Names: []string{"a", "", "a"}, Times: []int64{100, 101, 102, 103, 104, 105, 106, 107},
		Calls: map[string]uint64{"malloc": 1 << 60, "free": 2},
		Rows: []row{
			{Parent: -1, Name: "main", Text: &text, Stack: stack{2, 1, 0}, Words: []string{"x", "y"},
				Subs: []sub{{1, "p"}, {2, "q"}}, Of: metrics{1, .5}, Maybe: maybe{3},
				By: by{"p": {1, "x"}, "q": {2, "y"}}},
			{Name: "main", Known: &known, On: true, Stack: stack{1, 0}, Group: shared, Of: metrics{2, 1e300},
				By: by{"q": {3, "z"}}},
			{Parent: 1, Name: "f", Group: shared, Inner: sub{math.MaxUint32, "inner"}, Subs: []sub{{3, "p"}}},
			{Parent: 1, Name: "g", Group: &sub{8, ""}, Stack: stack{5, 0}, Of: metrics{0, math.Inf(1)}},
		},
		Lazy: lazy{3}, Metrics: metrics{4, 2}, hidden: 1}
	full.Rows[3].Of.churn = 0
	one := &answer{Rows: full.Rows[:1], Times: []int64{5}}
	for name, a := range map[string]*answer{"full": full, "zero": {}, "one row": one} {
		got, err := columns.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(columnstest.Plain(t, a), columnstest.Decode(t, got)); d != "" {
			t.Errorf("%s: json, columns:\n%s", name, d)
		}
	}
}

// TestForm: the examples of the package's documentation are true.
func TestForm(t *testing.T) {
	t.Parallel()
	big := uint64(math.MaxUint64)
	type numbers struct {
		N *uint64 `json:"n"`
	}
	seven := uint64(7)
	for _, c := range []struct {
		of   any
		want string
	}{
		{&struct {
			R []numbers `json:"r"`
		}{[]numbers{{&seven}, {}, {&big}}}, `{"r":{"rows":3,"columns":{"n":[7,null,"18446744073709551615"]}}}`},
		{&struct {
			R []numbers `json:"r"`
		}{[]numbers{{&seven}, {&seven}}}, `{"r":{"rows":2,"columns":{"n":7}}}`},
		{&struct {
			T []int64 `json:"t"`
		}{[]int64{1000000, 1000001, 1000003, 1000002, 1000009}}, `{"t":{"delta":[1000000,1,2,-1,7]}}`},
		{&struct {
			R []sub `json:"r"`
		}{}, `{"r":{"rows":0,"columns":{"a":[],"b":{"text":[]}}}}`},
	} {
		got, err := columns.Encode(c.of)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"answer":` + c.want + `,"texts":[""]}`; string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTexts: each text is written once.
func TestTexts(t *testing.T) {
	t.Parallel()
	type named struct {
		Name string `json:"name"`
	}
	a := &struct {
		R []named `json:"r"`
	}{[]named{{"operator new"}, {"operator new"}, {"f"}, {"operator new"}}}
	got, err := columns.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), "operator new"); n != 1 {
		t.Errorf("the text is there %d times: %s", n, got)
	}
}

// TestUnknownTypes: a type without columns is a fault that the first use shows.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	for _, of := range []any{make(chan int), struct{ F func() }{}, struct{ A any }{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T has columns", of)
				}
			}()
			columns.Of(reflect.TypeOf(of))
		}()
	}
}

package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MaxExact is the largest integer that is written as a number: beyond it, a browser's numbers have gaps.
const MaxExact = 1 << 53

// Encode returns an answer, a struct or a pointer to one, as JSON in columns.
func Encode(answer any) ([]byte, error) {
	v := reflect.ValueOf(answer)
	e := &encoder{texts: map[string]int32{"": 0}, list: []string{""}, paths: []path{{-1, -1}},
		pathOf: map[path]int32{}}
	b := e.value([]byte(`{"answer":`), Of(v.Type()), v)
	if len(e.paths) > 1 {
		b = append(b, `,"paths":`...)
		b = e.pathTable(b)
	}
	b = append(b, `,"texts":`...)
	var text bytes.Buffer
	list := json.NewEncoder(&text)
	list.SetEscapeHTML(false)
	if err := list.Encode(e.list); err != nil {
		return nil, fmt.Errorf("the texts of an answer: %w", err)
	}
	b = append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
	return append(b, '}'), nil
}

type encoder struct {
	texts  map[string]int32
	list   []string
	paths  []path
	pathOf map[path]int32
	frames []int // reused
}

// path is a row of the table of paths.
type path struct{ parent, frame int32 }

// value appends a value that is not in a table.
func (e *encoder) value(b []byte, t *Type, v reflect.Value) []byte {
	for v.Kind() == reflect.Pointer && !t.number {
		if v.IsNil() {
			return append(b, "null"...)
		}
		v = v.Elem()
	}
	switch t.Kind {
	case Integer, Float:
		return cellOf(t, v).append(b)
	case Text:
		return appendText(b, v.String())
	case Flag:
		return strconv.AppendBool(b, v.Bool())
	case Path:
		return append(strconv.AppendInt(append(b, `{"path":`...), int64(e.path(v)), 10), '}')
	case Record:
		return appendRecord(b, v.Interface().(Fields))
	case Struct:
		return e.object(b, t, v)
	case Map:
		return e.mapping(b, t, v)
	}
	if t.rows {
		v = reflect.ValueOf(v.Interface().(Rows).Slice())
	}
	switch t.Elem.Kind {
	case Struct, Record:
		return e.table(b, t.Elem, v)
	case Integer, Float:
		cells := make([]Cell, v.Len())
		for i := range cells {
			cells[i] = cellOf(t.Elem, v.Index(i))
		}
		return appendCells(b, cells, false)
	}
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.value(b, t.Elem, v.Index(i))
	}
	return append(b, ']')
}

func (e *encoder) object(b []byte, t *Type, v reflect.Value) []byte {
	b = append(b, '{')
	start := len(b)
	for i := range t.Fields {
		f := &t.Fields[i]
		x := v.FieldByIndex(f.index)
		if f.Optional && isEmpty(x) {
			continue
		}
		b = appendName(b, start, f.Name)
		b = e.value(b, f.Type, x)
	}
	return append(b, '}')
}

// isEmpty reports whether package json leaves a value out that may be left out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (e *encoder) mapping(b []byte, t *Type, v reflect.Value) []byte {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	b = append(b, '{')
	start := len(b)
	for _, k := range keys {
		b = e.value(appendName(b, start, k.String()), t.Elem, v.MapIndex(k))
	}
	return append(b, '}')
}

func appendRecord(b []byte, r Fields) []byte {
	b = append(b, '{')
	start := len(b)
	cells := r.Cells(nil)
	for i, name := range r.Names() {
		b = cells[i].append(appendName(b, start, name))
	}
	return append(b, '}')
}

// table appends the rows of a slice.
func (e *encoder) table(b []byte, t *Type, v reflect.Value) []byte {
	n := v.Len()
	b = strconv.AppendInt(append(b, `{"rows":`...), int64(n), 10)
	b = append(b, `,"columns":`...)
	if t.Kind == Record {
		b = e.records(b, n, v.Index)
	} else {
		b = e.fields(b, t, n, v.Index)
	}
	return append(b, '}')
}

// fields appends a column for each field of structs.
func (e *encoder) fields(b []byte, t *Type, n int, at func(i int) reflect.Value) []byte {
	b = append(b, '{')
	start := len(b)
	for i := range t.Fields {
		f := &t.Fields[i]
		b = appendName(b, start, f.Name)
		if len(f.index) == 1 {
			k := f.index[0]
			b = e.column(b, f.Type, n, func(i int) reflect.Value { return at(i).Field(k) })
			continue
		}
		b = e.column(b, f.Type, n, func(i int) reflect.Value { return at(i).FieldByIndex(f.index) })
	}
	return append(b, '}')
}

// records appends a column for each field of records, without those that are null in all.
func (e *encoder) records(b []byte, n int, at func(i int) reflect.Value) []byte {
	b = append(b, '{')
	start := len(b)
	if n == 0 {
		return append(b, '}')
	}
	names := at(0).Interface().(Fields).Names()
	cells := make([]Cell, 0, n*len(names))
	for i := range n {
		v := at(i)
		if v.CanAddr() {
			v = v.Addr() // whose interface needs no copy
		}
		cells = v.Interface().(Fields).Cells(cells)
	}
	column := make([]Cell, n)
	for k, name := range names {
		some := false
		for i := range column {
			column[i] = cells[i*len(names)+k]
			some = some || column[i].kind != 0
		}
		if some {
			b = appendCells(appendName(b, start, name), column, true)
		}
	}
	return append(b, '}')
}

// column appends a column of a table.
func (e *encoder) column(b []byte, t *Type, n int, at func(i int) reflect.Value) []byte {
	switch t.Kind {
	case Integer, Float:
		cells := make([]Cell, n)
		for i := range cells {
			cells[i] = cellOf(t, at(i))
		}
		return appendCells(b, cells, true)
	case Text:
		return appendIndexes(append(b, `{"text":`...), n, func(i int) int32 { return e.textAt(at(i)) })
	case Flag:
		return appendIndexes(append(b, `{"flag":`...), n, func(i int) int32 {
			if at(i).Bool() {
				return 1
			}
			return 0
		})
	case Path:
		return appendIndexes(append(b, `{"path":`...), n, func(i int) int32 { return e.path(at(i)) })
	case Record:
		return append(e.records(append(b, `{"record":`...), n, at), '}')
	case List:
		return e.lists(b, t, n, at)
	case Struct:
		if t.Shared {
			return e.shared(b, t, n, at)
		}
		return append(e.fields(append(b, `{"fields":`...), t, n, at), '}')
	}
	return append(e.maps(append(b, `{"record":`...), t, n, at), '}')
}

// maps appends a column for each key that any of the maps has. Those that lack it have its zero value.
func (e *encoder) maps(b []byte, t *Type, n int, at func(i int) reflect.Value) []byte {
	var zero reflect.Value
	keys := map[string]reflect.Value{}
	for i := range n {
		zero = reflect.Zero(at(i).Type().Elem())
		for _, k := range at(i).MapKeys() {
			keys[k.String()] = k
		}
	}
	b = append(b, '{')
	start := len(b)
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		b = e.column(appendName(b, start, name), t.Elem, n, func(i int) reflect.Value {
			if v := at(i).MapIndex(keys[name]); v.IsValid() {
				return v
			}
			return zero
		})
	}
	return append(b, '}')
}

// shared appends a column of pointers to structs, and the table of those.
func (e *encoder) shared(b []byte, t *Type, n int, at func(i int) reflect.Value) []byte {
	numbers := map[uintptr]int32{}
	var list []reflect.Value
	b = appendIndexes(append(b, `{"row":`...), n, func(i int) int32 {
		v := at(i)
		if v.IsNil() {
			return -1
		}
		number, ok := numbers[v.Pointer()]
		if !ok {
			number = int32(len(list))
			numbers[v.Pointer()] = number
			list = append(list, v.Elem())
		}
		return number
	})
	b = b[:len(b)-1] // the brace
	b = strconv.AppendInt(append(b, `,"of":{"rows":`...), int64(len(list)), 10)
	b = e.fields(append(b, `,"columns":`...), t, len(list), func(i int) reflect.Value { return list[i] })
	return append(b, "}}"...)
}

// lists appends a column of lists.
func (e *encoder) lists(b []byte, t *Type, n int, at func(i int) reflect.Value) []byte {
	var all []reflect.Value
	ends := make([]Cell, n)
	for i := range n {
		v := at(i)
		if t.rows {
			v = reflect.ValueOf(v.Interface().(Rows).Slice())
		}
		for k := range v.Len() {
			all = append(all, v.Index(k))
		}
		ends[i] = Int(int64(len(all)))
	}
	b = appendCells(append(b, `{"list":`...), ends, true)
	b = e.column(append(b, `,"of":`...), t.Elem, len(all), func(i int) reflect.Value { return all[i] })
	return append(b, '}')
}

// textAt returns the number of a text; -1: null.
func (e *encoder) textAt(v reflect.Value) int32 {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return -1
		}
		v = v.Elem()
	}
	s := v.String()
	n, ok := e.texts[s]
	if !ok {
		n = int32(len(e.list))
		e.texts[s] = n
		e.list = append(e.list, s)
	}
	return n
}

// path returns the number of a call stack.
func (e *encoder) path(v reflect.Value) int32 {
	e.frames = v.Interface().(Frames).AppendFrames(e.frames[:0])
	at := int32(0)
	for _, frame := range slices.Backward(e.frames) {
		p := path{at, int32(frame)}
		next, ok := e.pathOf[p]
		if !ok {
			next = int32(len(e.paths))
			e.pathOf[p] = next
			e.paths = append(e.paths, p)
		}
		at = next
	}
	return at
}

func (e *encoder) pathTable(b []byte) []byte {
	parents, frames := make([]Cell, len(e.paths)), make([]Cell, len(e.paths))
	for i, p := range e.paths {
		parents[i], frames[i] = Int(int64(p.parent)), Int(int64(p.frame))
	}
	b = strconv.AppendInt(append(b, `{"rows":`...), int64(len(e.paths)), 10)
	b = appendCells(append(b, `,"columns":{"parent":`...), parents, true)
	b = appendCells(append(b, `,"frame":`...), frames, true)
	return append(b, "}}"...)
}

func appendName(b []byte, start int, name string) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return append(appendText(b, name), ':')
}

func appendText(b []byte, s string) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a text cannot fail
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...)
}

// appendIndexes appends the indexes of a column, and closes its object.
func appendIndexes(b []byte, n int, at func(i int) int32) []byte {
	cells := make([]Cell, n)
	for i := range cells {
		cells[i] = Int(int64(at(i)))
	}
	return append(appendPlain(b, cells, true), '}')
}

// The kinds of cells.
const (
	isNull uint8 = iota
	isUint
	isInt // negative
	isFloat
)

// Uint is an integer.
func Uint(n uint64) Cell { return Cell{isUint, n} }

// Int is an integer.
func Int(n int64) Cell {
	if n < 0 {
		return Cell{isInt, uint64(n)}
	}
	return Cell{isUint, uint64(n)}
}

// Real is a number; what is not finite is null.
func Real(f float64) Cell {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Cell{}
	}
	return Cell{isFloat, math.Float64bits(f)}
}

// cellOf returns the cell of a number, or of a pointer to one.
func cellOf(t *Type, v reflect.Value) Cell {
	if t.number {
		return v.Interface().(Number).Cell()
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return Cell{}
		}
		v = v.Elem()
	}
	switch {
	case v.CanUint():
		return Uint(v.Uint())
	case v.CanInt():
		return Int(v.Int())
	}
	return Real(v.Float())
}

func (c Cell) append(b []byte) []byte {
	switch {
	case c.kind == isNull:
		return append(b, "null"...)
	case c.kind == isFloat:
		return strconv.AppendFloat(b, math.Float64frombits(c.bits), 'g', -1, 64)
	case c.kind == isUint && c.bits <= MaxExact:
		return strconv.AppendUint(b, c.bits, 10)
	case c.kind == isUint:
		return append(strconv.AppendUint(append(b, '"'), c.bits, 10), '"')
	case int64(c.bits) >= -MaxExact:
		return strconv.AppendInt(b, int64(c.bits), 10)
	}
	return append(strconv.AppendInt(append(b, '"'), int64(c.bits), 10), '"')
}

// appendCells appends a column of numbers in its shortest form. once says that a value that all have may stand for
// them.
func appendCells(b []byte, cells []Cell, once bool) []byte {
	if once && allSame(cells) || !shorterAsDelta(cells) {
		return appendPlain(b, cells, once)
	}
	b = append(b, `{"delta":[`...)
	before := int64(0)
	for i := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		n := int64(cells[i].bits)
		b = strconv.AppendInt(b, n-before, 10)
		before = n
	}
	return append(b, "]}"...)
}

func allSame(cells []Cell) bool {
	for i := range cells {
		if cells[i] != cells[0] {
			return false
		}
	}
	return len(cells) > 0
}

func appendPlain(b []byte, cells []Cell, once bool) []byte {
	if once && allSame(cells) {
		return cells[0].append(b)
	}
	b = append(b, '[')
	for i := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = cells[i].append(b)
	}
	return append(b, ']')
}

// shorterAsDelta reports whether all cells are exact integers, and their differences clearly shorter than they are.
func shorterAsDelta(cells []Cell) bool {
	const brackets = 16
	plain, delta := 0, brackets
	before := int64(0)
	for i := range cells {
		n := int64(cells[i].bits)
		if k := cells[i].kind; k != isUint && k != isInt || n > MaxExact || n < -MaxExact || k == isUint && n < 0 {
			return false
		}
		plain += length(n)
		delta += length(n - before)
		before = n
	}
	return delta < plain
}

// length is about how many characters an integer takes.
func length(n int64) int {
	sign := 0
	if n < 0 {
		sign, n = 1, -n
	}
	return sign + 1 + bits.Len64(uint64(n))*5/17
}

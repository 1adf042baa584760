// Package columnstest turns answers in columns back into objects, so that tests can compare them with the command
// line's.
package columnstest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// Plain returns what package json writes of a value, without what is empty, as Decode has it.
func Plain(t testing.TB, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return Objects(t, b)
}

// Objects returns a JSON text as values, without what is empty: null, 0, false, "", and lists and objects of nothing
// else. Columns have these where objects may leave them out.
func Objects(t testing.TB, text []byte) any {
	t.Helper()
	return prune(parse(t, text))
}

func parse(t testing.TB, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return v
}

// prune removes what is empty, except from lists, whose elements keep their places.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			if of = prune(of); of == nil {
				delete(v, name)
			} else {
				v[name] = of
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		some := false
		for i := range v {
			v[i] = prune(v[i])
			some = some || v[i] != nil
		}
		if !some {
			return nil
		}
	case json.Number:
		return number(v.String())
	case string:
		if v == "" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return v
}

// number returns a number in one form, however it was written; nil for 0.
func number(text string) any {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case f == 0:
		return nil
	case strings.ContainsAny(text, ".eE"):
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return text
}

// Decode returns an answer in columns as objects, without what is empty. A call stack is the list of its frames.
func Decode(t testing.TB, text []byte) any {
	t.Helper()
	m, ok := parse(t, text).(map[string]any)
	if !ok {
		t.Fatalf("not an answer: %.200s", text)
	}
	d := &decoder{t: t}
	for _, s := range m["texts"].([]any) {
		d.texts = append(d.texts, s.(string))
	}
	if p, ok := m["paths"].(map[string]any); ok {
		columns, n := p["columns"].(map[string]any), d.int(p["rows"])
		d.parent, d.frame = d.ints(columns["parent"], n), d.ints(columns["frame"], n)
	}
	return prune(d.value(m["answer"], ""))
}

type decoder struct {
	t             testing.TB
	texts         []string
	parent, frame []int
}

func (d *decoder) int(v any) int {
	d.t.Helper()
	n, err := strconv.Atoi(v.(json.Number).String())
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

// value turns a value that is not in a table into what it would be without columns.
func (d *decoder) value(v any, name string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = d.value(v[i], name)
		}
	case string:
		if n := len(v); n >= 16 && n <= 20 && name != "offset" && name != "address" {
			if _, err := strconv.ParseFloat(v, 64); err == nil {
				return json.Number(v)
			}
		}
	case map[string]any:
		if columns, ok := v["columns"].(map[string]any); ok && v["rows"] != nil {
			return d.objects(columns, d.int(v["rows"]))
		}
		if list, ok := v["delta"].([]any); ok {
			return d.numbers(v, len(list))
		}
		if p, ok := v["path"]; ok && len(v) == 1 {
			return d.path(d.int(p))
		}
		for name := range v {
			v[name] = d.value(v[name], name)
		}
	}
	return v
}

// objects makes rows of columns.
func (d *decoder) objects(columns map[string]any, n int) []any {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = map[string]any{}
	}
	for name, column := range columns {
		for i, v := range d.column(column, n) {
			rows[i].(map[string]any)[name] = v
		}
	}
	return rows
}

func (d *decoder) column(column any, n int) []any {
	d.t.Helper()
	c, ok := column.(map[string]any)
	if !ok || c["delta"] != nil {
		return d.numbers(column, n)
	}
	out := make([]any, n)
	each := func(kind string, of func(i int) any) {
		for i, k := range d.ints(c[kind], n) {
			out[i] = of(k)
		}
	}
	switch {
	case c["text"] != nil:
		each("text", func(i int) any {
			if i < 0 {
				return nil
			}
			return d.texts[i]
		})
	case c["flag"] != nil:
		each("flag", func(i int) any { return i == 1 })
	case c["path"] != nil:
		each("path", func(i int) any { return d.path(i) })
	case c["fields"] != nil:
		return d.objects(c["fields"].(map[string]any), n)
	case c["record"] != nil:
		return d.objects(c["record"].(map[string]any), n)
	case c["row"] != nil:
		table := c["of"].(map[string]any)
		rows := d.objects(table["columns"].(map[string]any), d.int(table["rows"]))
		each("row", func(i int) any {
			if i < 0 {
				return nil
			}
			return copyOf(rows[i])
		})
	case c["list"] != nil:
		ends := d.ints(c["list"], n)
		last := 0
		if n > 0 {
			last = ends[n-1]
		}
		all := d.column(c["of"], last)
		begin := 0
		for i, end := range ends {
			out[i] = append([]any{}, all[begin:end]...)
			begin = end
		}
	default:
		d.t.Fatalf("a column of an unknown kind: %v", c)
	}
	return out
}

// copyOf copies an object that several rows share: what is empty is removed from each.
func copyOf(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for name, of := range m {
		out[name] = copyOf(of)
	}
	return out
}

func (d *decoder) numbers(column any, n int) []any {
	d.t.Helper()
	out := make([]any, n)
	if c, ok := column.(map[string]any); ok {
		sum := int64(0)
		for i, v := range c["delta"].([]any) {
			sum += int64(d.int(v))
			out[i] = json.Number(strconv.FormatInt(sum, 10))
		}
		return out
	}
	list, ok := column.([]any)
	if ok && len(list) != n {
		d.t.Fatalf("a column has %d numbers, and not %d", len(list), n)
	}
	for i := range out {
		v := column
		if ok {
			v = list[i]
		}
		if s, big := v.(string); big {
			v = json.Number(s)
		}
		out[i] = v
	}
	return out
}

func (d *decoder) ints(column any, n int) []int {
	d.t.Helper()
	out := make([]int, n)
	for i, v := range d.numbers(column, n) {
		out[i] = d.int(v)
	}
	return out
}

func (d *decoder) path(id int) []any {
	list := []any{}
	for ; id > 0; id = d.parent[id] {
		list = append(list, json.Number(strconv.Itoa(d.frame[id])))
	}
	return list
}

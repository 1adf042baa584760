package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/columns"
)

// TypeScript returns the types of the answers, as ui/src/columns.ts decodes them, and the parameters of the questions.
func TypeScript() []byte {
	w := &writer{types: map[string]string{}, texts: map[string]bool{}, numbers: map[string]bool{}}
	session := w.value(columns.Of(reflect.TypeFor[api.Session]()))
	w.value(columns.Of(reflect.TypeFor[api.Error]()))
	w.value(columns.Of(reflect.TypeFor[api.Progress]()))
	notes := w.value(columns.Of(reflect.TypeFor[api.Notes]()))
	received := w.value(columns.Of(reflect.TypeFor[api.Received]()))
	var answers, parameters strings.Builder
	fmt.Fprintf(&answers, "  session: %s;\n  notes: %s;\n  received: %s;\n", session, notes, received)
	for i := range api.Questions {
		q := &api.Questions[i]
		var list []string
		for _, t := range q.Answers {
			list = append(list, w.value(columns.Of(t)))
		}
		fmt.Fprintf(&answers, "  /** %s */\n  %s: %s;\n", q.Text, q.Name, strings.Join(list, " | "))
		if len(q.Parameters) == 0 {
			fmt.Fprintf(&parameters, "  %s: Record<string, never>;\n", q.Name)
			continue
		}
		fmt.Fprintf(&parameters, "  %s: {\n", q.Name)
		for _, name := range q.Parameters {
			key := name
			if strings.Contains(name, "-") {
				key = strconv.Quote(name)
			}
			fmt.Fprintf(&parameters, "    %s?: %s;\n", key, parameterType(q.Parameter(name)))
		}
		parameters.WriteString("  };\n")
	}
	var b strings.Builder
	b.WriteString(`// The answers and the parameters of the API. "go generate ./internal/api/schema" writes this file.
import type { Flags, Lists, Numbers, PathColumn, Records, Shared, Texts } from "./columns.ts";

/** The answer to each question, decoded. */
export interface Answers {
`)
	b.WriteString(answers.String())
	b.WriteString("}\n\n/** The parameters of each question. */\nexport interface Parameters {\n")
	b.WriteString(parameters.String())
	b.WriteString("}\n")
	for _, p := range api.Parameters {
		if p.Known == nil || p.Kind == "flag" {
			continue
		}
		fmt.Fprintf(&b, "\n/** The values of the parameter %s. */\nexport type %sName =\n", p.Name, upper(p.Name))
		for i, v := range p.Known {
			end := ""
			if i == len(p.Known)-1 {
				end = ";"
			}
			fmt.Fprintf(&b, "  | %q%s\n", v, end)
		}
	}
	b.WriteString("\n/** The fields that hold texts, outside of tables. In others, a text is a large integer. */\n")
	b.WriteString("export const textFields: ReadonlySet<string> = new Set([\n")
	for _, name := range sorted(w.texts) {
		fmt.Fprintf(&b, "  %q,\n", name)
	}
	b.WriteString("]);\n")
	b.WriteString("\n/** Questions whose answers depend on more than the recording: nobody should keep them. */\n")
	b.WriteString("export const changing: ReadonlySet<string> = new Set([\n")
	for i := range api.Questions {
		if q := &api.Questions[i]; q.Changing {
			fmt.Fprintf(&b, "  %q,\n", q.Name)
		}
	}
	b.WriteString("]);\n")
	for _, name := range sorted(w.types) {
		fmt.Fprintf(&b, "\nexport interface %s {\n%s}\n", name, w.types[name])
	}
	return []byte(b.String())
}

// writer collects the interfaces of structs.
type writer struct {
	types          map[string]string // by name: the fields
	texts, numbers map[string]bool   // names of fields that are not in tables

}

// Ambiguous returns the names of fields that are texts in one answer and integers in another: a decoder could not tell
// a text from a large integer.
func Ambiguous() (names []string) {
	w := &writer{types: map[string]string{}, texts: map[string]bool{}, numbers: map[string]bool{}}
	w.value(columns.Of(reflect.TypeFor[api.Session]()))
	w.value(columns.Of(reflect.TypeFor[api.Notes]()))
	w.value(columns.Of(reflect.TypeFor[api.Received]()))
	for i := range api.Questions {
		for _, t := range api.Questions[i].Answers {
			w.value(columns.Of(t))
		}
	}
	for name := range w.texts {
		if w.numbers[name] {
			names = append(names, name)
		}
	}
	return names
}

func orNullType(t string, null bool) string {
	if null {
		return t + " | null"
	}
	return t
}

// value returns the type of a value that is not in a table.
func (w *writer) value(t *columns.Type) string {
	switch t.Kind {
	case columns.Integer, columns.Float:
		return orNullType("number", t.Null)
	case columns.Text:
		return orNullType("string", t.Null)
	case columns.Flag:
		return "boolean"
	case columns.Path:
		return "number"
	case columns.Record:
		return "Record<string, number | null>"
	case columns.Map:
		return "Record<string, " + w.value(t.Elem) + ">"
	case columns.Struct:
		w.fields(t, t.Name, w.value, true)
		return orNullType(t.Name, t.Null)
	}
	switch t.Elem.Kind {
	case columns.Struct:
		return w.table(t.Elem)
	case columns.Integer, columns.Float:
		return "Numbers"
	}
	return w.value(t.Elem) + "[]"
}

// table returns the type of a table of structs.
func (w *writer) table(t *columns.Type) string {
	name := t.Name + "Columns"
	w.fields(t, name, w.column, false)
	return name
}

// fields adds the interface of a struct.
func (w *writer) fields(t *columns.Type, name string, of func(*columns.Type) string, optional bool) {
	if _, ok := w.types[name]; ok {
		return
	}
	w.types[name] = "" // it may contain itself
	var b strings.Builder
	if !optional {
		b.WriteString("  rows: number;\n")
	}
	for _, f := range t.Fields {
		mark := ""
		if f.Optional && optional {
			mark = "?"
		}
		fmt.Fprintf(&b, "  %s%s: %s;\n", f.Name, mark, of(f.Type))
		if !optional {
			continue // columns say what they hold
		}
		elem := f.Type
		for elem.Kind == columns.List {
			elem = elem.Elem
		}
		switch elem.Kind {
		case columns.Text:
			w.texts[f.Name] = true
		case columns.Integer, columns.Float:
			w.numbers[f.Name] = true
		}
	}
	w.types[name] = b.String()
}

// column returns the type of a column of a table.
func (w *writer) column(t *columns.Type) string {
	switch t.Kind {
	case columns.Integer, columns.Float:
		return "Numbers"
	case columns.Text:
		return "Texts"
	case columns.Flag:
		return "Flags"
	case columns.Path:
		return "PathColumn"
	case columns.Record:
		return "Records"
	case columns.Map:
		return "Readonly<Record<string, " + w.column(t.Elem) + ">>"
	case columns.List:
		return "Lists<" + w.column(t.Elem) + ">"
	}
	if t.Shared {
		return "Shared<" + w.table(t) + ">"
	}
	return w.table(t)
}

func parameterType(p *api.Parameter) string {
	t := map[string]string{"integer": "number", "flag": "boolean"}[p.Kind]
	switch {
	case t != "":
		return t
	case p.Known != nil:
		t = upper(p.Name) + "Name"
	default:
		t = "string"
	}
	if p.Many {
		t += "[]"
	}
	return t
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package columns

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Kind is what values of a type are.
type Kind uint8

// The kinds.
const (
	Integer Kind = iota
	Float
	Text
	Flag
	Path   // see Frames
	Record // see Fields
	Struct
	List
	Map // of texts to Elem
)

// Frames is implemented by call stacks.
type Frames interface {
	// AppendFrames appends the numbers of the stack's frames, leaf first, to a list.
	AppendFrames(list []int) []int
}

// Fields is implemented by records whose fields are known only when an answer is there.
type Fields interface {
	// Names are the names of the fields: the same ones in all records of a list.
	Names() []string
	// Cells appends the values of all fields.
	Cells(list []Cell) []Cell
}

// Number is implemented by numbers that may be unknown.
type Number interface{ Cell() Cell }

// Cell is a number. The zero Cell is null.
type Cell struct {
	kind uint8
	bits uint64
}

// Rows is implemented by lists whose elements are made on demand. They also have a method At(i int) T.
type Rows interface {
	Len() int
	// Slice returns all elements, a []T.
	Slice() any
}

// Type describes the values of a Go type. Names, and what is left out if empty, are those of package json.
type Type struct {
	Kind   Kind
	Name   string  // of a Struct
	Null   bool    // values may be null
	Shared bool    // a Struct that is held by pointer: rows may have the same one
	Elem   *Type   // of a List and a Map
	Fields []Field // of a Struct

	rows, number bool // it implements Rows, Number
}

// Field is a field of a Struct.
type Field struct {
	Name     string
	Optional bool // it is left out where it is empty, except in tables
	Type     *Type
	Go       reflect.StructField
	index    []int
}

var (
	framesType = reflect.TypeFor[Frames]()
	fieldsType = reflect.TypeFor[Fields]()
	numberType = reflect.TypeFor[Number]()
	rowsType   = reflect.TypeFor[Rows]()
	jsonType   = reflect.TypeFor[json.Marshaler]()
)

var (
	typesMu sync.Mutex
	types   = map[reflect.Type]*Type{}
)

// Of describes a Go type. It panics if the type has no columns: that is a fault of the program.
func Of(t reflect.Type) *Type {
	typesMu.Lock()
	defer typesMu.Unlock()
	return of(t)
}

func of(t reflect.Type) *Type {
	if known, ok := types[t]; ok {
		return known
	}
	x := &Type{}
	types[t] = x // a type may contain itself
	switch {
	case t.Implements(framesType):
		x.Kind = Path
	case t.Implements(fieldsType):
		x.Kind = Record
	case t.Implements(numberType):
		x.Kind, x.Null, x.number = Integer, true, true
	case t.Implements(rowsType):
		at, _ := t.MethodByName("At")
		x.Kind, x.Elem, x.rows = List, of(at.Type.Out(0)), true
	case t.Kind() != reflect.Pointer && t.Implements(jsonType):
		panic(fmt.Sprintf("columns: %v has a JSON of its own", t))
	default:
		x.describe(t)
	}
	return x
}

func (x *Type) describe(t reflect.Type) {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x.Kind = Integer
	case reflect.Float64:
		x.Kind = Float
	case reflect.String:
		x.Kind = Text
	case reflect.Bool:
		x.Kind = Flag
	case reflect.Slice:
		x.Kind, x.Elem = List, of(t.Elem())
	case reflect.Map:
		x.Kind, x.Elem = Map, of(t.Elem())
	case reflect.Pointer:
		*x = *of(t.Elem())
		x.Null, x.Shared = true, x.Kind == Struct
	case reflect.Struct:
		x.Kind, x.Name = Struct, t.Name()
		x.addFields(t, nil)
	default:
		panic(fmt.Sprintf("columns: %v has no columns", t))
	}
}

// addFields adds the fields of a struct, and those of structs embedded in it.
func (x *Type) addFields(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			x.addFields(f.Type, at)
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			of := of(f.Type)
			if of.Kind == Struct && of.Name == "" {
				of.Name = x.Name + f.Name
			}
			x.Fields = append(x.Fields, Field{name, strings.Contains(options, "omit"), of, f, at})
		}
	}
}

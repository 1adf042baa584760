package schema

import (
	"encoding/json"
	"reflect"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/columns"
)

// object is a JSON object.
type object map[string]any

// OpenAPI returns the OpenAPI 3.1 document.
func OpenAPI() ([]byte, error) {
	d := &document{schemas: object{}}
	d.columns()
	paths := object{"/api/v1/session": object{"get": d.operation("session",
		"the runs, their programs, and the recordings of these", nil, reflect.TypeFor[api.Session]())}}
	for i := range api.Questions {
		q := &api.Questions[i]
		parameters := []any{object{"$ref": "#/components/parameters/recording"}}
		for _, name := range q.Parameters {
			parameters = append(parameters, object{"$ref": "#/components/parameters/" + name})
		}
		paths["/api/v1/r/{recording}/"+q.Name] = object{"get": d.operation(q.Name, q.Text, parameters, q.Answers...)}
	}
	paths["/api/v1/r/{recording}/notes"] = d.notes()
	paths["/api/v1/files"] = d.files()
	parameters := object{"recording": object{"name": "recording", "in": "path", "required": true,
		"description": "the id of a recording, from /api/v1/session", "schema": object{"type": "string"}}}
	for i := range api.Parameters {
		parameters[api.Parameters[i].Name] = parameter(&api.Parameters[i])
	}
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "heaptap", "version": "1",
			"description": "Questions about recordings of memory allocations. docs/api-http.md explains it."},
		"security": []any{object{"token": []any{}}},
		"paths":    paths,
		"components": object{"schemas": d.schemas, "parameters": parameters, "responses": failures(),
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	}, "", " ")
}

// document collects the schemas of types.
type document struct{ schemas object }

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

func orNull(schema object, null bool) object {
	if !null {
		return schema
	}
	return object{"anyOf": []any{schema, object{"type": "null"}}}
}

func listOf(schema any) object { return object{"type": "array", "items": schema} }

func only(properties object) object {
	return object{"type": "object", "required": sorted(properties), "properties": properties,
		"additionalProperties": false}
}

// columns adds the schemas of numbers and of columns (package columns).
func (d *document) columns() {
	s := d.schemas
	digits := object{"type": "string", "pattern": "^-?[0-9]{16,20}$",
		"description": "an integer beyond 2^53"}
	s["Integer"] = object{"anyOf": []any{object{"type": "integer", "minimum": -columns.MaxExact,
		"maximum": columns.MaxExact}, digits}}
	s["Number"] = object{"anyOf": []any{object{"type": "number"}, digits}}
	cell := orNull(ref("Number"), true)
	s["Numbers"] = object{"anyOf": []any{listOf(cell), only(object{"delta": listOf(object{"type": "integer"})})}}
	s["NumberColumn"] = object{"anyOf": []any{ref("Numbers"), cell}}
	index := object{"type": "integer", "minimum": -1}
	s["Indexes"] = object{"anyOf": []any{listOf(index), index}}
	s["TextColumn"] = only(object{"text": ref("Indexes")})
	s["FlagColumn"] = only(object{"flag": ref("Indexes")})
	s["PathColumn"] = only(object{"path": ref("Indexes")})
	s["RecordColumn"] = only(object{"record": ref("NumberColumns")})
	s["NumberColumns"] = object{"type": "object", "additionalProperties": ref("NumberColumn")}
	s["Record"] = object{"type": "object", "additionalProperties": cell}
	s["Paths"] = only(object{"rows": object{"type": "integer"},
		"columns": only(object{"parent": ref("NumberColumn"), "frame": ref("NumberColumn")})})
	d.value(columns.Of(reflect.TypeFor[api.Error]()))
	d.value(columns.Of(reflect.TypeFor[api.Progress]()))
}

// value returns the schema of a value that is not in a table.
func (d *document) value(t *columns.Type) object {
	switch t.Kind {
	case columns.Integer:
		return orNull(ref("Integer"), t.Null)
	case columns.Float:
		return orNull(ref("Number"), true)
	case columns.Text:
		return orNull(object{"type": "string"}, t.Null)
	case columns.Flag:
		return object{"type": "boolean"}
	case columns.Path:
		return only(object{"path": ref("Indexes")})
	case columns.Record:
		return ref("Record")
	case columns.Map:
		return object{"type": "object", "additionalProperties": d.value(t.Elem)}
	case columns.Struct:
		d.structure(t)
		return orNull(ref(t.Name), t.Null)
	}
	switch t.Elem.Kind {
	case columns.Struct:
		return d.table(t.Elem)
	case columns.Integer, columns.Float:
		return ref("Numbers")
	}
	return listOf(d.value(t.Elem))
}

// structure adds the schema of a struct.
func (d *document) structure(t *columns.Type) {
	if d.schemas[t.Name] != nil {
		return
	}
	d.schemas[t.Name] = object{} // it may contain itself
	properties, required := object{}, []string{}
	for _, f := range t.Fields {
		properties[f.Name] = d.value(f.Type)
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	d.schemas[t.Name] = object{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
}

// table returns the schema of a table of structs.
func (d *document) table(t *columns.Type) object {
	return only(object{"rows": object{"type": "integer", "minimum": 0}, "columns": d.fields(t)})
}

// fields returns the schema of the columns of structs.
func (d *document) fields(t *columns.Type) object {
	name := t.Name + "Columns"
	if d.schemas[name] == nil {
		d.schemas[name] = object{}
		properties := object{}
		for _, f := range t.Fields {
			properties[f.Name] = d.column(f.Type)
		}
		d.schemas[name] = only(properties)
	}
	return ref(name)
}

// column returns the schema of a column of a table.
func (d *document) column(t *columns.Type) object {
	switch t.Kind {
	case columns.Integer, columns.Float:
		return ref("NumberColumn")
	case columns.Text:
		return ref("TextColumn")
	case columns.Flag:
		return ref("FlagColumn")
	case columns.Path:
		return ref("PathColumn")
	case columns.Record:
		return ref("RecordColumn")
	case columns.Map:
		return only(object{"record": object{"type": "object", "additionalProperties": d.column(t.Elem)}})
	case columns.List:
		return only(object{"list": ref("NumberColumn"), "of": d.column(t.Elem)})
	}
	if t.Shared {
		return only(object{"row": ref("Indexes"), "of": d.table(t)})
	}
	return only(object{"fields": d.fields(t)})
}

// operation describes a question.
func (d *document) operation(name, text string, parameters []any, answers ...reflect.Type) object {
	var one []any
	for _, t := range answers {
		one = append(one, d.value(columns.Of(t)))
	}
	body := object{"type": "object", "required": []string{"answer", "texts"}, "additionalProperties": false,
		"properties": object{"answer": object{"anyOf": one}, "paths": ref("Paths"),
			"texts": listOf(object{"type": "string"})}}
	d.schemas[upper(name)+"Answer"] = body
	responses := object{
		"200": object{"description": "the answer; if it takes long, lines, of which the last is the answer or an error",
			"headers": object{"ETag": object{"schema": object{"type": "string"}}},
			"content": object{
				"application/json": object{"schema": ref(upper(name) + "Answer")},
				"application/x-ndjson": object{"schema": object{"anyOf": []any{
					only(object{"progress": ref("Progress")}), ref(upper(name) + "Answer"), ref("Error")}}}}},
		"304": object{"description": "the answer is the one that the client has"},
	}
	for status := range refusals {
		responses[status] = object{"$ref": "#/components/responses/" + status}
	}
	o := object{"operationId": name, "summary": text, "responses": responses}
	if parameters != nil {
		o["parameters"] = parameters
	}
	return o
}

// notes describes how notes are read and written.
func (d *document) notes() object {
	recording := []any{object{"$ref": "#/components/parameters/recording"}}
	read := d.operation("notes", "what the user has written about the run", recording, reflect.TypeFor[api.Notes]())
	write := object{"operationId": "writeNotes", "summary": "replace the notes; with If-Match, only those of that ETag",
		"parameters": recording, "responses": read["responses"],
		"requestBody": object{"required": true,
			"content": object{"application/json": object{"schema": ref("Notes")}}}}
	return object{"get": read, "post": write}
}

// refusals are the statuses of errors.
var refusals = map[string]string{"400": "a parameter is wrong", "401": "the token is missing or wrong",
	"403": "not allowed", "404": "there is no such recording or question", "405": "another method than GET",
	"409": "the events were folded, or summed up", "412": "the notes were changed by somebody else",
	"413": "the notes, or the file, are too large", "499": "a newer request of the same lane came in",
	"500": "the recording cannot be read", "503": "too many requests are waiting"}

func failures() object {
	list := object{}
	for status, why := range refusals {
		list[status] = object{"description": why,
			"content": object{"application/json": object{"schema": ref("Error")}}}
	}
	return list
}

func parameter(p *api.Parameter) object {
	schema := object{"type": "string"}
	switch p.Kind {
	case "integer":
		schema = object{"type": "integer", "minimum": 0, "maximum": p.Max}
	case "flag":
		schema = object{"type": "boolean"}
	case "regexp":
		schema["format"] = "regex"
	}
	if p.Known != nil && p.Kind != "flag" {
		schema["enum"] = p.Known
	}
	o := object{"name": p.Name, "in": "query", "description": p.Text, "schema": schema}
	if p.Many {
		o["schema"], o["explode"] = listOf(schema), !p.Split
	}
	return o
}

// files describes how files are sent.
func (d *document) files() object {
	text := func(name, what string) object {
		return object{"name": name, "in": "query", "description": what, "schema": object{"type": "string"}}
	}
	write := d.operation("sendFile", "take in a file of another tool, or a recording: it is part of the session until "+
		"that ends", []any{text("name", "what the file is called"),
		text("metric", "what its numbers are, if the format does not say it, as heaptap import --metric")},
		reflect.TypeFor[api.Received]())
	write["requestBody"] = object{"required": true,
		"content": object{"application/octet-stream": object{"schema": object{"type": "string", "format": "binary"}}}}
	return object{"post": write}
}

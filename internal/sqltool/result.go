package sqltool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/limited"
)

// Result is what a question yields.
type Result struct {
	Names []string            // of the columns; nil if there are no rows
	Rows  [][]json.RawMessage // a value for each column
	More  bool                // there are more rows than were asked for
}

// maxResult bounds the bytes of a result.
const maxResult = 64 << 20

// errEnough ends the reading of an answer.
var errEnough = errors.New("enough")

// ask puts a question to the database in a folder.
func (e *Engine) ask(ctx context.Context, dir, sql string, rows int) (*Result, error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	// A comment is nothing to SQL. To a shell, what begins with it is neither a flag nor a command of its own.
	cmd := e.command(running, dir, slices.Concat(e.kind.asking, []string{e.kind.before + "/* */ " + sql}))
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stderr = &limited.Writer{W: &said, Left: maxSaid}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Path, err)
	}
	in := &io.LimitedReader{R: stdout, N: maxResult}
	result, wrong := readResult(in, rows)
	if wrong != nil || in.N == 0 {
		cancel() // it would wait for somebody who reads
	}
	failed := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(wrong, errEnough):
		return result, nil
	case in.N == 0:
		return nil, &Error{e.Name, fmt.Sprintf("the result has more than %d MiB: add a LIMIT", maxResult>>20)}
	case said.Len() > 0 && (wrong != nil || failed != nil), failed != nil && wrong == nil:
		return nil, &Error{e.Name, what(said.String(), failed)}
	case wrong != nil:
		return nil, &Error{e.Name, wrong.Error()}
	}
	return result, nil
}

// readResult reads an array of objects, which have the same names in the same order. Names may be there twice.
func readResult(r io.Reader, rows int) (*Result, error) {
	result := &Result{}
	d := json.NewDecoder(r)
	unreadable := func(err error) error { return fmt.Errorf("its answer cannot be read: %w", err) }
	switch start, err := d.Token(); {
	case err == io.EOF: // no rows
		return result, nil
	case err != nil:
		return nil, unreadable(err)
	case start != json.Delim('['):
		return nil, unreadable(fmt.Errorf("%v is no list", start))
	}
	for d.More() {
		if _, err := d.Token(); err != nil { // {
			return nil, unreadable(err)
		}
		if len(result.Rows) == rows {
			result.More = true
			return result, errEnough
		}
		row := make([]json.RawMessage, 0, len(result.Names))
		first := len(result.Rows) == 0
		for d.More() {
			name, err := d.Token()
			if text, ok := name.(string); err == nil && first && ok {
				result.Names = append(result.Names, text)
			}
			var value json.RawMessage
			if err == nil {
				err = d.Decode(&value)
			}
			if syntax := (*json.SyntaxError)(nil); first && len(result.Names) == 0 && errors.As(err, &syntax) {
				return &Result{}, nil // DuckDB before 1.2 writes [{] for no rows
			}
			if err != nil {
				return nil, unreadable(err)
			}
			row = append(row, bytes.Clone(value))
		}
		if _, err := d.Token(); err != nil { // }
			if first && len(row) == 0 {
				return &Result{}, nil // as above
			}
			return nil, unreadable(err)
		}
		if len(row) != len(result.Names) {
			return nil, unreadable(errors.New("rows differ in their columns"))
		}
		result.Rows = append(result.Rows, row)
	}
	if _, err := d.Token(); err != nil { // ]
		return nil, unreadable(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one question: ask one SELECT at a time")
	}
	return result, nil
}

// Text is a value as a text for people: texts without quotes, nothing for what is missing.
func Text(value json.RawMessage) string {
	var text string
	switch {
	case string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	}
	return string(value)
}

// IsNumber reports whether a value is a number.
func IsNumber(value json.RawMessage) bool {
	return len(value) > 0 && strings.IndexByte("-0123456789", value[0]) >= 0
}

// IsMissing reports whether a value is missing.
func IsMissing(value json.RawMessage) bool { return string(value) == "null" }

// Package dump writes what a recording holds, table by table and event by event, as text or JSON, for people and for
// tests.
//
// As text, a line can be read by people, and cut into fields at blanks. As JSON, each line is an object, and all lines
// together have everything that the recording says. docs/recording.md describes both.
//
// Everything is written as it is read: memory does not grow with the number of events, and a range of events costs what
// it holds, not what precedes it.
package dump

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/heaptap/heaptap/internal/recording"
)

// Dumper writes parts of a recording. After an error of the writer, it writes nothing more; Flush returns the error.
type Dumper struct {
	r      *recording.Reader
	w      *bufio.Writer
	json   bool
	line   []byte
	enc    *json.Encoder
	err    error
	goesOn bool // more events will follow the last one
}

// New returns a Dumper that writes a recording to w, as text or as lines of JSON.
func New(w io.Writer, r *recording.Reader, asJSON bool) *Dumper {
	b := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return &Dumper{r: r, w: b, json: asJSON, enc: enc}
}

// Flush writes what is buffered.
func (d *Dumper) Flush() error {
	if d.err != nil {
		return d.err
	}
	return d.w.Flush()
}

// object writes a line of JSON.
func (d *Dumper) object(v any) {
	if d.err == nil {
		d.err = d.enc.Encode(v)
	}
}

func (d *Dumper) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format, args...)
	}
}

func (d *Dumper) write(line []byte) bool {
	if d.err == nil {
		_, d.err = d.w.Write(line)
	}
	return d.err == nil
}

// Package outfile writes files for users. A file appears under its name when it is complete; what is interrupted
// leaves nothing behind.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/heaptap/heaptap/internal/escape"
)

// Destination is where what is made of recordings goes: to a stream, to one file, or to a file for each recording.
type Destination struct {
	Stdout    io.Writer // nil: to files
	File      string    // "": named after the recording, in Dir
	Dir       string
	Extension string
	Names     io.Writer // gets the name of each file; nil: nobody needs it
}

// Name is a recording's name without folder and extension.
func Name(recording string) string { return strings.TrimSuffix(filepath.Base(recording), ".htap") }

// Path is the file that a recording goes to.
func (d *Destination) Path(recording string) string {
	if d.File != "" {
		return d.File
	}
	return filepath.Join(d.Dir, Name(recording)+d.Extension)
}

// Distinct reports an error if two of the recordings would go to one file.
func (d *Destination) Distinct(recordings []string) error {
	names := make(map[string]string)
	for _, path := range recordings {
		to := d.Path(path)
		if other, taken := names[to]; taken {
			return fmt.Errorf("%s and %s would both go to %s; export them one by one, with -o", other, path, to)
		}
		names[to] = path
	}
	return nil
}

// Write calls fill with a stream, and puts the file in its place when it is complete.
func (d *Destination) Write(recording string, fill func(io.Writer) error) error {
	if d.Stdout != nil {
		return QuietPipe(fillBuffered(d.Stdout, fill))
	}
	path := d.Path(recording)
	if SameFile(path, recording) {
		return fmt.Errorf("%s: is the recording itself; -o names another file", path)
	}
	if err := File(path, fill); err != nil {
		return err
	}
	if d.Names != nil {
		fmt.Fprintln(d.Names, escape.Terminal(path))
	}
	return nil
}

// QuietPipe makes a success of the error that a reader has seen enough: heaptap dump FILE | head.
func QuietPipe(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

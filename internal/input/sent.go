package input

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	imports "github.com/heaptap/heaptap/internal/import"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/run"
)

// Sent is a file that somebody has sent, in a temporary folder. Nothing that it says leads to another file or process:
// what still runs is not asked, and spools are not read.
type Sent struct {
	path, dir string
	remove    func()
}

// Store stores a file that is sent. Its name only serves to call it something.
func Store(name string, body io.Reader) (_ *Sent, err error) {
	dir, remove, err := outfile.TemporaryDir("heaptap-sent-")
	if err != nil {
		return nil, err
	}
	s := &Sent{path: filepath.Join(dir, fileName(name)), dir: dir, remove: remove}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

// fileName makes a name for a file: that of another one, without what is no part of names.
func fileName(name string) string {
	const most = 100 // bytes; a conversion adds to it
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, filepath.Base(strings.ToValidUTF8(name, "_")))
	if cut := strings.ToValidUTF8(name[:min(len(name), most)], ""); strings.Trim(cut, ".") != "" {
		return cut
	}
	return "sent"
}

// Run opens the run that the file is, or the one that is made of another tool's file; metric says what its numbers are,
// if the format does not. The file is only removed by Close.
func (s *Sent) Run(ctx context.Context, version, metric string) (*run.Run, error) {
	r, err := s.open(ctx, version, metric)
	if err != nil {
		// Whoever has sent the file does not know the folder.
		return nil, &sentError{strings.ReplaceAll(err.Error(), s.dir+"/", ""), err}
	}
	return r, nil
}

func (s *Sent) open(ctx context.Context, version, metric string) (*run.Run, error) {
	if IsRecording(s.path) {
		return run.Open(s.path)
	}
	to := filepath.Join(s.dir, "made", filepath.Base(s.path)) // its notes and messages contain this name
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		return nil, err
	}
	if err := imports.File(ctx, s.path, to, version, metric); err != nil {
		return nil, err
	}
	if err := os.Remove(s.path); err != nil { // it is not needed any more, and may be large
		return nil, err
	}
	return run.Open(to)
}

type sentError struct {
	text string
	err  error
}

func (e *sentError) Error() string { return e.text }
func (e *sentError) Unwrap() error { return e.err }

// Size is how many bytes the file or what was made of it takes.
func (s *Sent) Size() (sum int64) {
	_ = filepath.WalkDir(s.dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// Close removes the file, and what was made of it.
func (s *Sent) Close() { s.remove() }

// Package notes keeps what belongs to the recordings of a run and is not in them: files beside the run, which only the
// user may read. One is what users write about the run; another one is what heaptap replay has measured. Their content
// is the caller's; the package sees that it is written as a whole or not at all, and that nobody else can have it read
// or write another file.
package notes

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/run"
)

// Max bounds the notes of a run, in bytes.
const Max = 1 << 20

// ErrTooLarge is wrapped by the error for notes of more than Max bytes.
var ErrTooLarge = fmt.Errorf("notes are limited to %d bytes", Max)

// Kind is a kind of file beside a run.
type Kind struct {
	suffix, what string
	max          int // bytes
}

// Replay is the latest result of heaptap replay --save.
var Replay = Kind{".replay", "the saved replay", 8 << 20}

var written = Kind{".notes", "the notes", Max}

// Path returns the file for the recording at an address (run.OpenRecording) or path. All recordings of a run share one,
// beside the run: a folder with anything but the run in it could not be replaced.
func (k Kind) Path(address string) string {
	if at := run.Of(address); at != "" {
		address = at
	}
	return filepath.Clean(address) + k.suffix
}

// Path returns the file of notes for the recording at an address.
func Path(address string) string { return written.Path(address) }

// Read returns the notes for the recording at an address; nil if there are none.
func Read(address string) ([]byte, error) { return written.Read(address) }

// Write replaces the notes for the recording at an address.
func Write(address string, text []byte) error { return written.Write(address, text) }

// Read returns the file's content; nil if there is none. It fails if the file is a link, is not a regular file, or may
// be from another user.
func (k Kind) Read(address string) ([]byte, error) {
	path := k.Path(address)
	f, err := private.OpenOwned(path, owner(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", k.what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(k.max)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", k.what, err)
	case len(text) > k.max:
		return nil, fmt.Errorf("%s: %w", path, k.tooLarge())
	}
	return text, nil
}

func (k Kind) tooLarge() error {
	if k == written {
		return ErrTooLarge
	}
	return fmt.Errorf("%s has more than %d bytes", k.what, k.max)
}

// owner is the user that a file of notes must be of: this one, or the one who called sudo.
func owner(path string) uint32 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil && private.Ours(st.Uid) {
		return st.Uid
	}
	return uint32(os.Geteuid())
}

// Write replaces the file. Unless it is merely too large, it leaves alone what Read does not read.
func (k Kind) Write(address string, text []byte) (err error) {
	path := k.Path(address)
	if len(text) > k.max {
		return fmt.Errorf("%s: %w", path, k.tooLarge())
	}
	if _, err := k.Read(address); err != nil && !errors.Is(err, ErrTooLarge) {
		return err
	}
	dir, err := private.BesideFolder(path)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.what, err)
	}
	defer dir.Close()
	half := k.suffix + "." + rand.Text() // not a name that somebody can have taken
	if err := create(dir, half, text); err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.what, err)
	}
	if err := dir.Rename(half, filepath.Base(path)); err != nil {
		return fmt.Errorf("%s cannot be written: %w", k.what, errors.Join(err, dir.Remove(half)))
	}
	return nil
}

// create makes a file that only the user may read, or none.
func create(dir *private.Folder, name string, text []byte) error {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = private.GiveToCaller(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, dir.Remove(name))
	}
	return nil
}

// Package notes keeps what users write about the recordings of a run: one file beside the run, which only they may
// read. Its content is the caller's; the package sees that it is written as a whole or not at all, and that nobody else
// can have it read or write another file.
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

// Path returns the file of notes for the recording at an address (run.OpenRecording) or path. All recordings of a run
// share one, beside the run: a folder with anything but the run in it could not be replaced.
func Path(address string) string {
	if at := run.Of(address); at != "" {
		address = at
	}
	return filepath.Clean(address) + ".notes"
}

// Read returns the notes for the recording at an address; nil if there are none. It fails if the file is a link, is not
// a regular file, or may be from another user.
func Read(address string) ([]byte, error) {
	path := Path(address)
	f, err := private.OpenOwned(path, owner(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the notes cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, Max+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the notes cannot be read: %w", err)
	case len(text) > Max:
		return nil, fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	return text, nil
}

// owner is the user that a file of notes must be of: this one, or the one who called sudo.
func owner(path string) uint32 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil && private.Ours(st.Uid) {
		return st.Uid
	}
	return uint32(os.Geteuid())
}

// Write replaces the notes for the recording at an address. Unless they are merely too large, it leaves alone what Read
// does not read.
func Write(address string, text []byte) (err error) {
	path := Path(address)
	if len(text) > Max {
		return fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	if _, err := Read(address); err != nil && !errors.Is(err, ErrTooLarge) {
		return err
	}
	dir, err := private.BesideFolder(path)
	if err != nil {
		return fmt.Errorf("the notes cannot be written: %w", err)
	}
	defer dir.Close()
	half := ".notes." + rand.Text() // not a name that somebody can have taken
	if err := create(dir, half, text); err != nil {
		return fmt.Errorf("the notes cannot be written: %w", err)
	}
	if err := dir.Rename(half, filepath.Base(path)); err != nil {
		return fmt.Errorf("the notes cannot be written: %w", errors.Join(err, dir.Remove(half)))
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

// Package imports makes recordings of what other tools recorded. Each format is a package of its own below this one, which tells its
// files by their beginning. Files may be compressed by gzip or zstd, whatever they are called.
package imports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/import/heaptrack"
)

// Format is a form of other tools' files.
type Format struct {
	Name   string
	Is     func(head []byte) bool // of a file that begins so
	Import func(in io.Reader, path, recorder string) error
}

// All are the formats that are known.
var All = []Format{{Name: "heaptrack", Is: heaptrack.Is, Import: heaptrack.Import}}

// ErrUnknown says that a file is of no known format.
var ErrUnknown = errors.New("of no format that can be imported; heaptrack's data files can be")

// maxWindow is the most memory, in bytes, that decompression may take.
const maxWindow = 128 << 20

// File makes a recording of the file from and puts it at to, whole or not at all. recorder says in it who wrote it.
func File(from, to, recorder string) (err error) {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	in, closeIn, err := unpacked(f)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	defer closeIn()
	head, err := in.Peek(1 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", from, err)
	}
	for _, format := range All {
		if format.Is(head) {
			return write(to, func(path string) error {
				if err := format.Import(in, path, recorder); err != nil {
					return fmt.Errorf("%s (%s): %w", from, format.Name, err)
				}
				return nil
			})
		}
	}
	return fmt.Errorf("%s: %w", from, ErrUnknown)
}

// unpacked returns what a file has in it.
func unpacked(f io.Reader) (*bufio.Reader, func(), error) {
	in := bufio.NewReaderSize(f, 1<<16)
	head, _ := in.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		return bufio.NewReaderSize(z, 1<<16), func() { z.Close() }, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return bufio.NewReaderSize(z, 1<<16), z.Close, nil
	}
	return in, func() {}, nil
}

// write has a file made under another name, and gives it its own when it is whole.
func write(to string, fill func(path string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if err := errors.Join(f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err := fill(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

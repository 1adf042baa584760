// Package imports makes recordings from the files of other tools. Each format has its own package below this one, which
// recognises its files by their beginning. Files may be compressed with gzip or zstd, whatever their names are.
//
// Files may be forged. This package bounds what a file unpacks to, each format its own tables, and merge.Imported the
// frames and call stacks of all; docs/formats.md lists the limits.
package imports

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/import/dhat"
	"github.com/heaptap/heaptap/internal/import/folded"
	"github.com/heaptap/heaptap/internal/import/heapprofile"
	"github.com/heaptap/heaptap/internal/import/heaptrack"
	"github.com/heaptap/heaptap/internal/import/massif"
	"github.com/heaptap/heaptap/internal/import/pprof"
	"github.com/heaptap/heaptap/internal/import/speedscope"
	"github.com/heaptap/heaptap/internal/merge"
)

// Format is a file format of another tool.
type Format struct {
	Name string
	Tool string                 // that writes it
	Is   func(head []byte) bool // recognises a file by its beginning, unpacked
	// Import makes a recording with events at path. recorder is the program that the recording names as its writer.
	Import func(in io.Reader, path, recorder string) error
	// Read reads sums, if files of the format have no events. Either Read, ReadAs or Import is set.
	Read func(in io.Reader) (*merge.Imported, error)
	// ReadAs is Read for a format that does not say what its numbers are: metric says so, one of Metrics; "": unknown.
	ReadAs  func(in io.Reader, metric string) (*merge.Imported, error)
	Metrics []string
}

// All are the known formats, in the order in which they are tried: any text might be folded stacks.
var All = []Format{
	{Name: "heaptrack", Tool: "heaptrack", Is: heaptrack.Is, Import: heaptrack.Import},
	{Name: "gperftools", Tool: "gperftools (HEAPPROFILE)", Is: heapprofile.IsGperftools, Read: readHeapProfile},
	{Name: "jemalloc", Tool: "jemalloc (prof:true)", Is: heapprofile.IsJemalloc, Read: readHeapProfile},
	{Name: "massif", Tool: "Valgrind's massif", Is: massif.Is, Read: massif.Read},
	{Name: "dhat", Tool: "Valgrind's DHAT", Is: dhat.Is, Read: dhat.Read},
	{Name: "speedscope", Tool: "speedscope", Is: speedscope.Is, Read: speedscope.Read},
	{Name: "pprof", Tool: "pprof: Go, tcmalloc, heaptap and others", Is: pprof.Is, Read: pprof.Read},
	{Name: "folded", Tool: "folded stacks, MallocProfiler", Is: folded.Is, ReadAs: folded.Read,
		Metrics: folded.Meanings()},
}

func readHeapProfile(in io.Reader) (*merge.Imported, error) {
	return heapprofile.Read(in, heapprofile.FromFiles)
}

// Names lists the formats for messages.
func Names() string {
	var names []string
	for _, f := range All {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// ErrUnknown says that a file has no known format.
var ErrUnknown = errors.New("unknown format; these can be imported: " + Names())

// maxWindow limits the memory, in bytes, for decompression.
const maxWindow = 128 << 20

// headSize is how much of a file is read to recognise its format, in bytes.
const headSize = 1 << 16

// Is reports whether a file has a format that can be imported. Pipes are not read, since that is possible only once.
func Is(path string) bool {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, in, closeIn, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	defer closeIn()
	_, err = detect(in)
	return err == nil
}

// A packed file of a few megabytes may unpack to terabytes. Real files shrink by a factor of 10, rarely of 20: no more
// than maxFree bytes, or maxFactor times the packed size, are read.
const (
	maxFree   = 32 << 20
	maxFactor = 16
)

// counter counts the bytes that are read.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded reads an unpacked file, as long as it is in proportion to the packed one.
type bounded struct {
	counter
	packed *counter
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > maxFree+maxFactor*b.packed.n {
		return 0, fmt.Errorf("it unpacks to more than %d MB and %d times its size: if that is intended, unpack it "+
			"first", maxFree>>20, maxFactor)
	}
	return b.counter.Read(p)
}

// open opens a file, and unpacks it.
func open(path string) (f *os.File, in *bufio.Reader, closeIn func(), err error) {
	if f, err = os.Open(path); err != nil {
		return nil, nil, nil, err
	}
	if in, closeIn, err = unpacked(f); err != nil {
		f.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, in, closeIn, nil
}

// detect recognises the format of a file.
func detect(in *bufio.Reader) (*Format, error) {
	head, err := in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	for i := range All {
		if All[i].Is(head) {
			return &All[i], nil
		}
	}
	return nil, ErrUnknown
}

// File makes a recording of the file from and puts it at to, complete or not at all. recorder is the program that the
// recording names as its writer. metric says what the numbers are if the format does not; "" if it does, or if unknown.
// If ctx ends while the file is read, File fails with its error.
func File(ctx context.Context, from, to, recorder, metric string) (err error) {
	f, in, closeIn, err := open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	defer closeIn()
	format, err := detect(in)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if metric != "" && !slices.Contains(format.Metrics, metric) {
		return fmt.Errorf("%s (%s): --metric %s is not possible%s", from, format.Name, metric, format.choice())
	}
	return write(to, func(path string) error {
		if err := format.to(&until{ctx, in}, from, path, recorder, metric); err != nil {
			return fmt.Errorf("%s (%s): %w", from, format.Name, err)
		}
		return nil
	})
}

// until reads until a context ends.
type until struct {
	ctx context.Context
	in  io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.in.Read(p)
}

// choice says which metrics are possible.
func (f *Format) choice() string {
	if f.Metrics == nil {
		return ": the format itself says what its numbers are"
	}
	return "; its number may be " + strings.Join(f.Metrics, ", ")
}

// to makes a recording at path.
func (f *Format) to(in io.Reader, from, path, recorder, metric string) error {
	var t *merge.Imported
	var err error
	switch {
	case f.Import != nil:
		return f.Import(in, path, recorder)
	case f.ReadAs != nil:
		t, err = f.ReadAs(in, metric)
	default:
		t, err = f.Read(in)
	}
	if err != nil {
		return err
	}
	t.Process.Recorder = recorder
	t.Input.File = filepath.Base(from)
	return t.Write(path)
}

// unpacked returns the unpacked contents of a file.
func unpacked(f io.Reader) (*bufio.Reader, func(), error) {
	packed := &counter{in: f}
	in := bufio.NewReaderSize(packed, headSize)
	head, _ := in.Peek(4)
	unpacked := func(z io.Reader) *bufio.Reader {
		return bufio.NewReaderSize(&bounded{counter{in: z}, packed}, headSize)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		return unpacked(z), func() { z.Close() }, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return unpacked(z), z.Close, nil
	}
	return in, func() {}, nil
}

// write calls fill with a temporary name, and renames the file when it is complete.
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
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

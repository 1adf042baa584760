// Package imports makes recordings of what other tools recorded. Each format is a package of its own below this one,
// which tells its files by their beginning. Files may be compressed by gzip or zstd, whatever they are called.
//
// Files may be forged. This package bounds what a file unpacks to, each format its own tables, and merge.Imported the
// frames and call stacks of all; docs/formats.md lists the limits.
package imports

import (
	"bufio"
	"bytes"
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

// Format is a form of other tools' files.
type Format struct {
	Name string
	Tool string                 // that writes it
	Is   func(head []byte) bool // of a file that begins so, unpacked
	// Import makes a recording with events at path; recorder says in it who wrote it.
	Import func(in io.Reader, path, recorder string) error
	// Read reads sums, where a file of the format tells of no events. Either this or Import is set.
	Read func(in io.Reader) (*merge.Imported, error)
	// ReadAs is Read where a file does not say what its numbers are, and somebody does: a metric, one of Metrics.
	ReadAs  func(in io.Reader, metric string) (*merge.Imported, error)
	Metrics []string
}

// All are the formats that are known, in the order in which they are asked whether a file is theirs: any text might be
// folded stacks.
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

// Names are the formats, as texts name them.
func Names() string {
	var names []string
	for _, f := range All {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// ErrUnknown says that a file is of no known format.
var ErrUnknown = errors.New("of no format that can be imported; these can: " + Names())

// maxWindow is the most memory, in bytes, that decompression may take.
const maxWindow = 128 << 20

// headSize is how much of a file is looked at to tell its format, in bytes.
const headSize = 1 << 16

// Is reports whether a file is of a format that can be imported. A pipe is not looked into: that could be done only
// once.
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

// A packed file of a few megabytes may unpack to terabytes. What tools write of programs gets smaller by a factor of
// 10, seldom of 20: more than maxFree bytes and maxFactor times as many as were packed are not read.
const (
	maxFree   = 32 << 20
	maxFactor = 16
)

// counter counts what is read.
type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded is what was packed, as far as it is in proportion.
type bounded struct {
	counter
	packed *counter
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n > maxFree+maxFactor*b.packed.n {
		return 0, fmt.Errorf("it unpacks to more than %d MB and %d times its size: if that is what it should be, "+
			"unpack it first", maxFree>>20, maxFactor)
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

// detect tells the format of a file.
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

// File makes a recording of the file from and puts it at to, whole or not at all. recorder says in it who wrote it,
// metric what the numbers are where the format leaves that open, "" where it does not or nobody knows.
func File(from, to, recorder, metric string) (err error) {
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
		return fmt.Errorf("%s (%s): cannot be told to be %s%s", from, format.Name, metric, format.choice())
	}
	return write(to, func(path string) error {
		if err := format.to(in, from, path, recorder, metric); err != nil {
			return fmt.Errorf("%s (%s): %w", from, format.Name, err)
		}
		return nil
	})
}

// choice says what the numbers can be told to be.
func (f *Format) choice() string {
	if f.Metrics == nil {
		return ": the format says itself what its numbers are"
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

// unpacked returns what a file has in it.
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
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(f.Name()); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}

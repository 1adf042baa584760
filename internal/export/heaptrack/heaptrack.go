// Package heaptrack writes heaptrack's interpreted data files, version 3, which heaptrack_gui and heaptrack_print read:
// the events in order, and names, frames and call stacks before their first use.
//
// The first letter of a line says what it holds: s a name after its length, i an address and its frames, t a call stack
// (an address and the caller's stack), a a size and a call stack, + an allocation of such, - its deallocation, c a time
// in ms, R a resident set in pages. Numbers are hexadecimal; names, addresses and stacks are numbered from 1, sizes
// from 0.
//
// The format has no threads. Its readers call a block temporary if its deallocation directly follows the allocation of
// a block of that size and call stack, on any thread. That is not heaptap's meaning (docs/definitions.md).
package heaptrack

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/export"
)

// Format is heaptrack's data files.
var Format = export.Format{
	Name:      "heaptrack",
	Tool:      "heaptrack_gui and heaptrack_print",
	Extension: ".heaptrack.zst",
	Binary:    true,
	Keeps: "every allocation and deallocation that counts: size, call stack, order, time in ms; lines, inlined " +
		"functions; the resident set",
	In: "all; a deallocation is taken to end the youngest block of its size and call stack",
	Loses: "threads, addresses, functions that were called, usable sizes; deallocations of blocks from before the " +
		"range; readers count temporary blocks in their own way",
	Variants: []export.Variant{
		{Name: "zst", Text: "compressed by zstd"},
		{Name: "gz", Text: "compressed by gzip", Extension: ".heaptrack.gz"},
		{Name: "plain", Text: "not compressed", Extension: ".heaptrack"},
	},
	Write: write,
}

func write(ctx context.Context, out io.Writer, in *export.Input) error {
	packed, err := compress(out, in.Variant)
	if err != nil {
		return err
	}
	w, err := newWriter(packed, in)
	if err != nil {
		return err
	}
	w.head()
	if err := in.Events(ctx, w.event); err != nil {
		return err
	}
	w.moment(w.end)
	if err := w.Flush(); err != nil {
		return err
	}
	return packed.Close()
}

// compress returns a stream that compresses into out. Readers recognise the compression by the file name's extension.
func compress(out io.Writer, variant string) (io.WriteCloser, error) {
	switch variant {
	case "gz":
		return gzip.NewWriter(out), nil
	case "plain":
		return plain{out}, nil
	}
	// One thread, so that the same input gives the same bytes.
	return zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// The version of heaptrack that wrote this format, the format's version, and the page size, which is the unit of
// resident sets.
const (
	toolVersion = 0x010400
	formVersion = 3
	pageSize    = 4096
)

// head writes the beginning of the file. It gives no memory size: that of the recorded machine is not known.
func (w *writer) head() {
	p := w.in.Reader.Process()
	command := strings.Join(p.Args, " ")
	if command == "" {
		command = p.Exe
	}
	fmt.Fprintf(w, "v %x %x\nX %s\nI %x 0\n", toolVersion, formVersion, oneLine(command), pageSize)
}

// oneLine makes a text safe for a line of its own.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

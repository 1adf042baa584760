package recording

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/heaptap/heaptap/internal/event"
)

// Begins reports whether a file begins as a recording does, though it may be cut short.
func Begins(f io.ReaderAt) bool {
	var magic [len(fileMagic)]byte
	_, err := f.ReadAt(magic[:], 0)
	return err == nil && string(magic[:]) == fileMagic
}

// Peek reads only which process an open file is a recording of, which takes little time however long the file is.
// merged is true of the sums of several recordings.
func Peek(f *os.File) (p event.Process, merged bool, err error) {
	st, err := f.Stat()
	if err != nil {
		return p, false, err
	}
	b := &blockFile{name: st.Name(), data: f, size: st.Size()}
	h := make([]byte, fileHeaderLength)
	n, err := readFull(f, h, 0)
	if err != nil {
		return p, false, err
	}
	if b.header, err = decodeFileHeader(b.name, h[:n]); err != nil {
		return p, false, err
	}
	merged = b.header.flags&flagMerged != 0
	at, ok := b.blockAt(fileHeaderLength)
	if !ok || at.typ != blockProcess {
		return p, merged, fmt.Errorf("%s: does not begin with the description of a process", b.name)
	}
	payload, err := b.payload(at, nil)
	if err == nil {
		err = json.Unmarshal(payload, &p)
	}
	return p, merged, err
}

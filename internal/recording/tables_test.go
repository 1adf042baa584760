package recording

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// written returns a reader of a finished recording in which write has put what it wants.
func written(t *testing.T, write func(w *Writer) error) *Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := Create(path, event.Process{PID: 1}, Options{})
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Finish(Ending{End: 1e6})
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if !r.Complete() {
		t.Errorf("damaged: %v", r.Damage())
	}
	return r
}

// forgeries changes every byte of a table, with the checksums of blocks aside, and shows what still has columns.
func forgeries(t *testing.T, encode func(*payload, *columnWriter), look func(at int, s *columns)) {
	t.Helper()
	p, err := newPayload()
	if err != nil {
		t.Fatal(err)
	}
	encode(p, &columnWriter{})
	good := bytes.Clone(p.bytes())
	for i := range good {
		for _, change := range []byte{0xff, 0x80, 1} {
			b := bytes.Clone(good)
			b[i] ^= change
			var s columns
			if s.parse(b) == nil {
				look(i, &s)
			}
		}
	}
}

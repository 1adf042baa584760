package recording_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// written returns a reader of a finished recording, whose contents write has written.
func written(t *testing.T, write func(w *recording.Writer) error) *recording.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 1}, recording.Options{})
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Finish(recording.Ending{End: 1e6})
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if !r.Complete() {
		t.Errorf("damaged: %v", r.Damage())
	}
	return r
}

// forgeries changes every byte of a table's payload, and passes on those that still have columns.
func forgeries(t *testing.T, encode func(*column.Payload), look func(at int, s *column.Set)) {
	t.Helper()
	p := column.NewPayload()
	encode(p)
	good := bytes.Clone(p.Bytes())
	for i := range good {
		for _, change := range []byte{0xff, 0x80, 1} {
			b := bytes.Clone(good)
			b[i] ^= change
			var s column.Set
			if s.Parse(b) == nil {
				look(i, &s)
			}
		}
	}
}

package livelog_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/livelog"
)

// TestOpen: a number is a file descriptor, of which the log has a copy; any other text is a file.
func TestOpen(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l, err := livelog.Open(fmt.Sprint(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.WriteString("still open"); err != nil {
		t.Error(err)
	}
	w.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "still open" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := livelog.Open("987654"); err == nil || !strings.Contains(err.Error(), "./987654") {
		t.Errorf("a descriptor that is not open: %v", err)
	}
	path := filepath.Join(t.TempDir(), "events")
	if l, err = livelog.Open(path); err != nil {
		t.Fatal(err)
	}
	l.OnRecording(launch.Recording{Path: filepath.Join(t.TempDir(), "missing.htap")}, true)
	_ = l.Close()
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if _, err := livelog.Open(filepath.Join(path, "below")); err == nil {
		t.Error("a file below a file was opened")
	}
}

// Package importtest holds what the tests of all importers share.
package importtest

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/verify"
)

// Fuzz holds that whatever is read gives an error that says where, or a recording in which all sums agree.
func Fuzz(f *testing.F, read func(in io.Reader) (*merge.Imported, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		told, err := read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		Write(t, told)
	})
}

// Write writes what was read, and verifies it. It returns the recording's path; "" if what was read contradicts itself.
func Write(t testing.TB, told *merge.Imported) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	if err := told.Write(path); err != nil {
		if strings.Contains(err.Error(), "the peak of") {
			return ""
		}
		t.Fatal(err)
	}
	r, err := verify.File(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		for _, p := range c.Problems {
			t.Errorf("%s: %s", c.Name, p)
		}
	}
	return path
}

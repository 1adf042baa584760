// Package importtest has what the tests of all importers share.
package importtest

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/verify"
)

// Fuzz checks that any input gives an error that says where, or a recording in which all sums agree.
func Fuzz(f *testing.F, read func(in io.Reader) (*merge.Imported, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		imported, err := read(strings.NewReader(string(text)))
		if err != nil {
			return
		}
		Write(t, imported)
	})
}

// Write writes a recording and verifies it. It returns the recording's path; "" if the input is inconsistent.
func Write(t testing.TB, imported *merge.Imported) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.htap")
	if err := imported.Write(path); err != nil {
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

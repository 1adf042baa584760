//go:build !linux

package recording

import (
	"errors"
	"os"
)

// osFile is a file that cannot have holes.
type osFile struct{ *os.File }

// Punch is not implemented on this system.
func (osFile) Punch(int64, int64) error { return errors.ErrUnsupported }

// Used is the file's length.
func (f osFile) Used() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

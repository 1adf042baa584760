// Package limited bounds what is kept of what another program writes.
package limited

import "io"

// Writer passes on the first bytes, and drops the rest.
type Writer struct {
	W    io.Writer
	Left int // bytes that it will still pass on
}

// Write returns an error only if W does.
func (l *Writer) Write(p []byte) (int, error) {
	n := min(len(p), l.Left)
	l.Left -= n
	if _, err := l.W.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

package folded

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// The byte order marks of Unicode encodings: PowerShell writes UTF-16.
var (
	markUTF8   = []byte{0xef, 0xbb, 0xbf}
	markLittle = []byte{0xff, 0xfe}
	markBig    = []byte{0xfe, 0xff}
)

// plain returns text in UTF-8, without a byte order mark.
func plain(in io.Reader) io.Reader {
	b := bufio.NewReader(in)
	head, _ := b.Peek(len(markUTF8))
	switch {
	case bytes.HasPrefix(head, markUTF8):
		_, _ = b.Discard(len(markUTF8))
	case bytes.HasPrefix(head, markLittle):
		_, _ = b.Discard(len(markLittle))
		return &wide{in: b, order: binary.LittleEndian}
	case bytes.HasPrefix(head, markBig):
		_, _ = b.Discard(len(markBig))
		return &wide{in: b, order: binary.BigEndian}
	}
	return b
}

// wide reads UTF-16 as UTF-8. An invalid surrogate becomes U+FFFD.
type wide struct {
	in    *bufio.Reader
	order binary.ByteOrder
	next  rune // already read; 0: none
	rest  []byte
}

func (w *wide) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(w.rest) == 0 {
			r, err := w.rune()
			if err != nil {
				if n > 0 {
					return n, nil
				}
				return 0, err
			}
			w.rest = utf8.AppendRune(w.rest[:0], r)
		}
		k := copy(p[n:], w.rest)
		n, w.rest = n+k, w.rest[k:]
	}
	return n, nil
}

// rune reads a character.
func (w *wide) rune() (rune, error) {
	r := w.next
	w.next = 0
	if r == 0 {
		var err error
		if r, err = w.unit(); err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	low, err := w.unit()
	if errors.Is(err, io.EOF) {
		return utf8.RuneError, nil
	} else if err != nil {
		return 0, err
	}
	both := utf16.DecodeRune(r, low)
	if both == utf8.RuneError {
		w.next = low
	}
	return both, nil
}

// unit reads 16 bits.
func (w *wide) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(w.in, b[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return 0, err
	}
	return rune(w.order.Uint16(b[:])), nil
}

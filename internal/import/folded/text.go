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

// toUTF8 returns text in UTF-8, without a byte order mark.
func toUTF8(in io.Reader) io.Reader {
	b := bufio.NewReader(in)
	head, _ := b.Peek(len(markUTF8))
	switch {
	case bytes.HasPrefix(head, markUTF8):
		_, _ = b.Discard(len(markUTF8))
	case bytes.HasPrefix(head, markLittle):
		_, _ = b.Discard(len(markLittle))
		return &utf16Reader{in: b, order: binary.LittleEndian}
	case bytes.HasPrefix(head, markBig):
		_, _ = b.Discard(len(markBig))
		return &utf16Reader{in: b, order: binary.BigEndian}
	}
	return b
}

// utf16Reader reads UTF-16 as UTF-8. An invalid surrogate becomes U+FFFD.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	next  rune // already read; 0: none
	rest  []byte
}

func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.rest) == 0 {
			r, err := u.rune()
			if err != nil {
				if n > 0 {
					return n, nil
				}
				return 0, err
			}
			u.rest = utf8.AppendRune(u.rest[:0], r)
		}
		k := copy(p[n:], u.rest)
		n, u.rest = n+k, u.rest[k:]
	}
	return n, nil
}

// rune reads a character.
func (u *utf16Reader) rune() (rune, error) {
	r := u.next
	u.next = 0
	if r == 0 {
		var err error
		if r, err = u.unit(); err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	low, err := u.unit()
	if errors.Is(err, io.EOF) {
		return utf8.RuneError, nil
	} else if err != nil {
		return 0, err
	}
	both := utf16.DecodeRune(r, low)
	if both == utf8.RuneError {
		u.next = low
	}
	return both, nil
}

// unit reads 16 bits.
func (u *utf16Reader) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.in, b[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return 0, err
	}
	return rune(u.order.Uint16(b[:])), nil
}

package call

import (
	"encoding/binary"
	"strings"
)

// Fields yields the fields of a message of Protocol Buffers up to the first that cannot be read: a number, or bytes.
func Fields(m []byte, yield func(field int, v uint64, b []byte)) {
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		if n <= 0 {
			return
		}
		m = m[n:]
		v := uint64(0)
		var b []byte
		switch tag & 7 {
		case 0, 2:
			if v, n = binary.Uvarint(m); n <= 0 {
				return
			}
			m = m[n:]
			if tag&7 == 2 {
				if v > uint64(len(m)) {
					return
				}
				b, m = m[:v], m[v:]
			}
		case 1:
			m = m[min(8, len(m)):]
		case 5:
			m = m[min(4, len(m)):]
		default:
			return
		}
		yield(int(min(tag>>3, 1<<29)), v, b)
	}
}

// statusMessage is the field of google.rpc.Status that says in words what is wrong.
const statusMessage = 2

// said is what a server says is wrong: an answer of the type of Protocol Buffers is a google.rpc.Status, others are text.
func said(contentType string, answer []byte) string {
	if kind, _, _ := strings.Cut(contentType, ";"); strings.TrimSpace(kind) != "application/x-protobuf" {
		return brief(answer)
	}
	text := ""
	Fields(answer, func(field int, _ uint64, b []byte) {
		if field == statusMessage {
			text = brief(b)
		}
	})
	return text
}

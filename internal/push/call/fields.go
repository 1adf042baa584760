package call

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields yields the fields of a message of Protocol Buffers up to the first that cannot be read: a number, or bytes.
func Fields(m []byte, yield func(field int, v uint64, b []byte)) {
	for len(m) > 0 {
		field, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(field, typ, m); n < 0 {
			return
		}
		var v uint64
		var b []byte
		switch typ {
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(m)
		case protowire.BytesType:
			b, _ = protowire.ConsumeBytes(m)
		}
		yield(int(field), v, b)
		m = m[n:]
	}
}

// statusMessage is the field of google.rpc.Status that says in words what is wrong.
const statusMessage = 2

// said is what a server says is wrong: an answer of the type of Protocol Buffers is a google.rpc.Status, others are
// text.
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

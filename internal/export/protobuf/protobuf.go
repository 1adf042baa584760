// Package protobuf writes messages in the encoding of Protocol Buffers, field by field.
package protobuf

import "google.golang.org/protobuf/encoding/protowire"

// Message is a message under construction. Fields come in the order in which they are added. Those without a value are
// left out, as proto3 has it, except by the methods named Set.
type Message struct{ b []byte }

// Bytes returns the message as it is so far; it is valid until the next field.
func (m *Message) Bytes() []byte { return m.b }

// Reset empties the message.
func (m *Message) Reset() { m.b = m.b[:0] }

func (m *Message) tag(field int, typ protowire.Type) {
	m.b = protowire.AppendTag(m.b, protowire.Number(field), typ)
}

// SetUint adds a number, 0 too: a member of a oneof.
func (m *Message) SetUint(field int, v uint64) {
	m.tag(field, protowire.VarintType)
	m.b = protowire.AppendVarint(m.b, v)
}

// Uint adds a uint32, uint64, bool or enum.
func (m *Message) Uint(field int, v uint64) {
	if v != 0 {
		m.SetUint(field, v)
	}
}

// Int adds an int32 or int64.
func (m *Message) Int(field int, v int64) { m.Uint(field, uint64(v)) }

// Bool adds a bool.
func (m *Message) Bool(field int, v bool) { m.Uint(field, protowire.EncodeBool(v)) }

// Fixed64 adds a fixed64 or an sfixed64; 0 too.
func (m *Message) Fixed64(field int, v uint64) {
	m.tag(field, protowire.Fixed64Type)
	m.b = protowire.AppendFixed64(m.b, v)
}

// SetString adds a string, an empty one too: an element of a repeated field.
func (m *Message) SetString(field int, v string) {
	m.tag(field, protowire.BytesType)
	m.b = protowire.AppendString(m.b, v)
}

// String adds a string.
func (m *Message) String(field int, v string) {
	if v != "" {
		m.SetString(field, v)
	}
}

// Blob adds bytes.
func (m *Message) Blob(field int, v []byte) {
	if len(v) > 0 {
		m.SetBlob(field, v)
	}
}

// SetBlob adds bytes, also if there are none: an element of a repeated field.
func (m *Message) SetBlob(field int, v []byte) {
	m.tag(field, protowire.BytesType)
	m.b = protowire.AppendBytes(m.b, v)
}

// Message adds a message, an empty one too.
func (m *Message) Message(field int, v *Message) { m.SetBlob(field, v.b) }

// Packed adds numbers as a packed repeated field.
func (m *Message) Packed(field int, list []uint64) {
	if len(list) == 0 {
		return
	}
	n := 0
	for _, v := range list {
		n += protowire.SizeVarint(v)
	}
	m.tag(field, protowire.BytesType)
	m.b = protowire.AppendVarint(m.b, uint64(n))
	for _, v := range list {
		m.b = protowire.AppendVarint(m.b, v)
	}
}

// Append adds the fields of another message.
func (m *Message) Append(v *Message) { m.b = append(m.b, v.b...) }

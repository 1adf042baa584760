package otlp

import "encoding/binary"

// Fields of ExportProfilesServiceResponse and ExportProfilesPartialSuccess.
const (
	responsePartial                 = 1
	partialRejected, partialMessage = 1, 2
)

// rejected reads from an answer how many profiles were not taken, and why. What is no such answer has rejected none.
func rejected(answer []byte) (n uint64, why string) {
	fields(answer, func(field int, _ uint64, partial []byte) {
		if field == responsePartial {
			fields(partial, func(field int, v uint64, text []byte) {
				switch field {
				case partialRejected:
					n = v
				case partialMessage:
					why = string(text)
				}
			})
		}
	})
	return n, why
}

// fields yields the fields of a message of Protocol Buffers up to the first that cannot be read: a number, or bytes.
func fields(m []byte, yield func(field int, v uint64, b []byte)) {
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

package otlp

import (
	"testing"

	"github.com/heaptap/heaptap/internal/export/protobuf"
)

func partial(n uint64, why string) []byte {
	var p, m protobuf.Message
	p.Uint(partialRejected, n)
	p.String(partialMessage, why)
	m.Fixed64(9, 1) // unknown field
	m.Message(responsePartial, &p)
	return m.Bytes()
}

func TestRejected(t *testing.T) {
	if n, why := rejected(partial(3, "too old")); n != 3 || why != "too old" {
		t.Errorf("%d %q", n, why)
	}
	for _, answer := range [][]byte{nil, partial(0, "be careful"), []byte("hello"), {0x0a, 0xff}} {
		if n, _ := rejected(answer); n != 0 {
			t.Errorf("%q: %d", answer, n)
		}
	}
}

// FuzzRejected parses arbitrary responses.
func FuzzRejected(f *testing.F) {
	f.Add(partial(3, "too old"))
	f.Add([]byte{0x0d, 1})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, answer []byte) {
		if _, why := rejected(answer); len(why) > len(answer) {
			t.Error("more text than there is")
		}
	})
}

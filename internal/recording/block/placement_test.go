package block

import (
	"testing"

	"github.com/heaptap/heaptap/internal/recording/column"
)

// TestPlacement: both sides agree on every address, whatever it is, and the freed block that is taken is forgotten.
func TestPlacement(t *testing.T) {
	t.Parallel()
	var p placement
	class := p.class(40)
	for i := range uint64(40) {
		p.free(placed{0x1000 + i*48, class})
	}
	c := &p.classes[class]
	for _, want := range []struct {
		addr uint64
		code uint8
	}{{0x1000 + 39*48, 0}, {0x1000 + 37*48, 1}, {0x1000 + 38*48, 0}, {0x1000 + 8*48, 28}, {0x1000 + 8*48, unitsFromOwn},
		{0x1000 + 7*48, unitsFromOwn}, {1<<64 - 1, bytesFromOwn}, {0, unitsFromOwn}} {
		code, distance := c.encode(want.addr, 0x500)
		if code != want.code {
			t.Fatalf("%#x: code %d instead of %d", want.addr, code, want.code)
		}
		distances := column.Cursor{Data: column.AppendUint(nil, column.Zigzag(distance))}
		if got, ok := c.decode(code, 0x500, &distances); !ok || got != want.addr {
			t.Fatalf("%#x became %#x, %v", want.addr, got, ok)
		}
		p.alloc(class, code, want.addr, 40)
	}
	if code, _ := c.encode(48, 48); code != behindOwn {
		t.Error("behind the thread's latest:", code)
	}
	if code, _ := c.encode(48, 0x500); code != behindClass {
		t.Error("behind the class's latest:", code)
	}
	if _, ok := c.decode(ranks-1, 0, new(column.Cursor)); ok {
		t.Error("a freed block that is not there was found")
	}
}

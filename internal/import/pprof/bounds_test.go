package pprof

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// TestBounds reads profiles of a few megabytes with the shortest possible parts: they are refused before they take much
// memory.
func TestBounds(t *testing.T) {
	numbered := func(field protowire.Number) func(i int) []byte { // a message with an id
		return func(i int) []byte {
			id := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(i))
			return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), id)
		}
	}
	same := func(part string) func(i int) []byte {
		return func(int) []byte { return []byte(part) }
	}
	for name, c := range map[string]struct {
		parts int
		part  func(i int) []byte
		want  string
	}{
		"types":     {1 << 11, same("\x0a\x00"), "more than 1024 types"},
		"samples":   {1 << 21, same("\x12\x00"), "more than 1048576 samples"},
		"mappings":  {1 << 18, numbered(3), "more than 131072 mappings"},
		"locations": {1 << 21, numbered(4), "more than 1048576 locations"},
		"lines":     {1 << 23, same("\x22\x02\x22\x00"), "more than 4194304 lines"},
		"inlined":   {1, same("\x22\x80\x80\x10" + strings.Repeat("\x22\x00", 1<<17)), "more than 65536 lines of one"},
		"functions": {1 << 21, numbered(5), "more than 1048576 functions"},
		"texts":     {1 << 23, same("\x32\x00"), "more than 4194304 texts"},
		"comments":  {1 << 15, same("\x6a\x04\x01\x01\x01\x01"), "more than 65536 numbers"},
		"depth": {1, same("\x12\x85\x80\x80\x01\x0a\x80\x80\x80\x01" + strings.Repeat("\x01", 1<<21)),
			"more than 1048576 numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			b.WriteString(seeds[0][:12] + "2\x002\x0dinuse_objects2\x05count2\x0binuse_space2\x05bytes")
			for i := range c.parts {
				b.Write(c.part(i))
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(bytes.NewReader(b.Bytes()))
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; expected %q", err, c.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
				t.Errorf("reading %d bytes took %d bytes of memory", b.Len(), n)
			}
		})
	}
}

package column

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestPack: what is packed in either way is a valid zstd frame.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	noise := func(n, kinds int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(min(r.IntN(kinds), r.IntN(kinds)))
		}
		return b
	}
	for name, raw := range map[string][]byte{
		"empty": nil, "short": noise(50, 2), "small": noise(1024, 9), "one byte": bytes.Repeat([]byte{7}, 200_000),
		"skewed": noise(300_000, 40), "random": noise(300_000, 256), "block": noise(zstdBlock, 30),
		"block and one": noise(zstdBlock+1, 30), "repeating": bytes.Repeat(noise(997, 256), 300),
		"mixed": append(append(noise(zstdBlock, 5), bytes.Repeat([]byte{1}, zstdBlock)...), noise(zstdBlock, 256)...),
	} {
		var p packer
		for i := range 2*trialEvery + 3 {
			prefix := []byte("before")
			out, ok := p.pack(3, prefix, raw)
			if !bytes.HasPrefix(out, prefix) {
				t.Fatalf("%s: what was there is gone", name)
			}
			out = out[len(prefix):]
			if !ok {
				if len(out) > 0 || name != "empty" && name != "random" && name != "short" {
					t.Fatalf("%s: not packed, %d bytes", name, len(out))
				}
				continue
			}
			got, err := d.DecodeAll(out, nil)
			if err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("%s, time %d: %d bytes come back as %d: %v", name, i, len(raw), len(got), err)
			}
			if len(out) >= len(raw) {
				t.Fatalf("%s: %d bytes packed into %d", name, len(raw), len(out))
			}
		}
		if len(raw) > 0 {
			got, err := d.DecodeAll(packings.Get().(*packing).literals(nil, raw), nil)
			if err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("%s: literals: %v", name, err)
			}
		}
		for name2, want := range map[string]bool{"skewed": true, "repeating": false} {
			if name == name2 && p.ways[3].literals != want {
				t.Errorf("%s: literals %v, want %v", name, p.ways[3].literals, want)
			}
		}
	}
}

// TestMemo: a column that was packed before is packed into the same bytes, and a memo does not grow for ever.
func TestMemo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 400 {
		raw := make([]byte, minPacked+r.IntN(2*memoColumn))
		for k := range raw {
			raw[k] = byte(r.IntN(1 + i%80))
		}
		packs = memo{}
		var first, second packer
		a, okA := first.pack(1, nil, raw)
		if _, ok := packs.find(raw); ok != (len(raw) <= memoColumn) {
			t.Fatalf("%d bytes are remembered: %v", len(raw), ok)
		}
		b, okB := second.pack(1, nil, raw)
		if okA != okB || !bytes.Equal(a, b) || first.ways != second.ways {
			t.Fatalf("%d bytes are packed into %d, then into %d", len(raw), len(a), len(b))
		}
	}
	for range 200 {
		raw := make([]byte, memoColumn)
		for k := range raw {
			raw[k] = byte(r.Uint32())
		}
		new(packer).pack(1, nil, raw)
		sum := 0
		for k, v := range packs.packs {
			sum += len(k) + len(v.frame)
		}
		if sum != packs.size || sum > memoSize {
			t.Fatalf("the memo has %d bytes, and says %d", sum, packs.size)
		}
	}
}

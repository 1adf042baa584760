package spill

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/internal/wire"
)

// recorded returns part of an agent's spill file: the records of each chunk.
func recorded(path string, most int) (blocks [][]byte) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	le := binary.LittleEndian
	for len(b) >= wire.ChunkHeaderSize && len(blocks) < most {
		fill := int(le.Uint32(b[24:]))
		if le.Uint32(b) != wire.ChunkMagic || fill < wire.ChunkHeaderSize || fill > len(b) {
			break
		}
		blocks = append(blocks, b[wire.ChunkHeaderSize:fill:fill])
		b = b[fill:]
	}
	return blocks
}

// inputs returns what the benchmarks pack: generated records, and those of real programs if HEAPTAP_TRACES names a
// folder that has a folder with a spill file for each program.
func inputs() map[string][][]byte {
	m := map[string][][]byte{"synthetic": benchBlocks()}
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HEAPTAP_TRACES"), "*", "*.spill"))
	for _, path := range found {
		if blocks := recorded(path, 64); len(blocks) > 0 {
			m[filepath.Base(filepath.Dir(path))] = blocks
		}
	}
	return m
}

func eachInput(b *testing.B, f func(b *testing.B, blocks [][]byte)) {
	all := inputs()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) { f(b, all[name]) })
	}
}

func BenchmarkEncode(b *testing.B) {
	eachInput(b, func(b *testing.B, blocks [][]byte) {
		var dst []byte
		n := 0
		for _, k := range blocks {
			e, _ := wire.Events(k)
			n += e
		}
		events, bytes := 0, 0
		before := cpuTime()
		for b.Loop() {
			for _, k := range blocks {
				dst, _ = Encode(dst[:0], k)
				bytes += len(dst)
			}
			events += n
		}
		b.ReportMetric(float64(events)/(cpuTime()-before).Seconds()/1e6, "Mevents/cpu-s")
		b.ReportMetric(float64(bytes)/float64(events), "B/event")
	})
}

func BenchmarkDecode(b *testing.B) {
	eachInput(b, func(b *testing.B, blocks [][]byte) {
		var packed [][]byte
		n := 0
		for _, k := range blocks {
			out, _ := Encode(nil, k)
			packed = append(packed, out)
			e, _ := wire.Events(k)
			n += e
		}
		events := 0
		dst := make([]byte, 0, 1<<17)
		before := cpuTime()
		for b.Loop() {
			for _, k := range packed {
				if _, err := Decode(dst[:0], k, 1<<16); err != nil {
					b.Fatal(err)
				}
			}
			events += n
		}
		b.ReportMetric(float64(events)/(cpuTime()-before).Seconds()/1e6, "Mevents/cpu-s")
	})
}

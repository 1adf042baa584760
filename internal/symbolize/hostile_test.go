package symbolize

import (
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/elfx"
)

// Limits of one lookup in a damaged file of a few dozen KB.
const (
	maxTime   = time.Minute
	maxMemory = 256 << 20
)

// survive looks addresses up in a file that may be damaged in any way. It fails if that panics, which ends the whole
// test, takes too long, or takes memory out of proportion.
func survive(t testing.TB, path string, addrs []uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	ask(Options{DebugDirs: []string{}}, path, nil, addrs)
	elfx.Inspect(path)
	d := time.Since(start)
	runtime.ReadMemStats(&after)
	if d > maxTime {
		t.Errorf("%s: took %v", path, d)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > maxMemory {
		t.Errorf("%s: allocated %d MB", path, n>>20)
	}
}

// sampleProgram returns a program with all kinds of sections, and addresses to look up in it.
func sampleProgram(t testing.TB, flags ...string) ([]byte, []uint64) {
	t.Helper()
	path := build(t, "plain.c", "p", "gcc", append(flags, "-O2", "-Wl,--build-id=sha1")...)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var addrs []uint64
	for _, name := range []string{".plt", ".text"} {
		s := f.Section(name)
		for a := s.Addr; a < s.Addr+s.Size; a += 3 {
			addrs = append(addrs, a)
		}
	}
	return b, addrs
}

func TestTruncated(t *testing.T) {
	b, addrs := sampleProgram(t, "-g")
	path := filepath.Join(t.TempDir(), "p")
	step := len(b)/150 + 1
	if testing.Short() {
		step *= 5
	}
	for n := 0; n < len(b); n += step {
		if err := os.WriteFile(path, b[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		survive(t, path, addrs)
	}
}

// Bytes of debug sections, symbol tables and headers replaced at random, by any value and by extreme ones.
func TestBitFlips(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	edges := []byte{0, 1, 0x7f, 0x80, 0xff, 0xfe}
	for seed, flags := range []string{"-gdwarf-5", "-gdwarf-4", "-gdwarf-3", "-gdwarf-5 -gz"} {
		b, addrs := sampleProgram(t, strings.Fields(flags)...)
		f, err := elf.NewFile(readerAt(b))
		if err != nil {
			t.Fatal(err)
		}
		type area struct{ off, size uint64 }
		areas := []area{{0, 64}, {binary.LittleEndian.Uint64(b[0x28:]), uint64(len(f.Sections)) * 64}}
		for _, s := range f.Sections {
			if strings.HasPrefix(s.Name, ".debug") || strings.Contains(s.Name, "sym") || s.Name == ".rela.plt" ||
				s.Name == ".note.gnu.build-id" {
				areas = append(areas, area{s.Offset, s.FileSize})
			}
		}
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		rounds := 250
		if testing.Short() {
			rounds = 40
		}
		for range rounds {
			c := append([]byte(nil), b...)
			a := areas[r.IntN(len(areas))]
			for range 1 + r.IntN(8) {
				at := a.off + r.Uint64N(max(a.size, 1))
				if r.IntN(2) == 0 {
					c[at] = edges[r.IntN(len(edges))]
				} else {
					c[at] ^= 1 << r.IntN(8)
				}
			}
			if err := os.WriteFile(path, c, 0o644); err != nil {
				t.Fatal(err)
			}
			survive(t, path, addrs)
			if t.Failed() {
				t.Fatalf("%s", flags)
			}
		}
	}
}

type readerAt []byte

func (r readerAt) ReadAt(p []byte, off int64) (int, error) { return copy(p, r[off:]), nil }

// A section that claims to decompress to gigabytes, or really does.
func TestDecompressionBomb(t *testing.T) {
	b, addrs := sampleProgram(t, "-g", "-gz")
	f, err := elf.NewFile(readerAt(b))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".debug_info")
	if s == nil || s.Flags&elf.SHF_COMPRESSED == 0 {
		t.Skip("this gcc does not compress")
	}
	for _, size := range []uint64{1 << 62, 1 << 40, 1 << 33, 1 << 28, 1 << 22, s.Size - 1, s.Size + 1, 0, 1} {
		for _, kind := range []uint32{1, 2, 3, 0, 1 << 31} {
			c := append([]byte(nil), b...)
			binary.LittleEndian.PutUint32(c[s.Offset:], kind)
			binary.LittleEndian.PutUint64(c[s.Offset+8:], size)
			path := filepath.Join(t.TempDir(), "p")
			if err := os.WriteFile(path, c, 0o644); err != nil {
				t.Fatal(err)
			}
			survive(t, path, addrs)
		}
	}
}

// A file that shrinks while it is mapped loses its names; the process does not crash.
func TestShrinks(t *testing.T) {
	b, addrs := sampleProgram(t, "-g")
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := elfx.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	f.Release()
	if _, err := f.Symbols(addrs); err == nil {
		t.Error("the symbol table was read although the file is gone")
	}
	j := &job{addrs: addrs}
	if s := New(Options{}); s.dwarf(t.Context(), j, f, []string{path}) == nil && len(j.notes) == 0 {
		t.Error("no note says that the debug information could not be read")
	}
	if id := f.BuildID(); id != nil {
		t.Errorf("build id %x of a file that has shrunk", id)
	}
}

// FuzzResolve takes any bytes as a program.
func FuzzResolve(f *testing.F) {
	for _, flags := range []string{"-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gz"} {
		b, _ := sampleProgram(f, strings.Fields(flags)...)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "p")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		var addrs []uint64
		for a := uint64(0x1000); a < 0x1800; a += 7 {
			addrs = append(addrs, a)
		}
		survive(t, path, addrs)
	})
}

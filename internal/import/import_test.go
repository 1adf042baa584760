package imports

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/verify"
)

// sums are the sums of a recording.
type sums struct {
	allocations, bytes, peak, peakBlocks, leaked, leakedBlocks uint64
	// The function with most bytes at the peak, and its caller.
	function string
	caller   string
}

// samples are files that the tools themselves wrote for a program that keeps 100 blocks of 1,000 bytes, has 50 of
// 20,000 at once and 5,000 of 64 one after the other. Massif's last snapshot was taken when one of these was live.
// jemalloc sampled; the expected numbers of its file are jeprof's, except for rounding.
var samples = map[string]sums{
	"shop.massif.out":      {4, 1_200_128, 1_100_000, 2, 100_064, 1, "piece(unsigned long)", "peak()"},
	"shop.dhat.json":       {5150, 1_420_000, 1_100_000, 150, 100_000, 100, "piece(unsigned long)", "peak()"},
	"shop.gperftools.heap": {5150, 1_420_000, 100_000, 100, 100_000, 100, "", ""},
	"shop.jemalloc.heap":   {136, 220_865, 220_865, 136, 220_865, 136, "", ""},
	"go.pb.gz":             {0, 0, 0, 0, 0, 0, "main.leak", "main.main"},
}

// imported makes a recording of a file and verifies it.
func imported(t *testing.T, from string) *query.Source {
	t.Helper()
	to := filepath.Join(t.TempDir(), "a.htap")
	if err := File(t.Context(), from, to, "test", ""); err != nil {
		t.Fatal(err)
	}
	r, err := verify.File(to)
	if err != nil || !r.OK {
		t.Fatalf("%s: %v %+v", from, err, r)
	}
	s, err := query.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func sumsOf(s *query.Source) sums {
	p := s.Profile.Totals
	return sums{p.Allocations, p.Bytes, p.Peak.Bytes, p.Peak.Blocks, p.LeakedBytes(), p.LeakedBlocks(), "", ""}
}

func TestSamples(t *testing.T) {
	for name, want := range samples {
		t.Run(name, func(t *testing.T) {
			s := imported(t, filepath.Join("testdata", name))
			got := sumsOf(s)
			most := uint64(0)
			for i := range s.Profile.Stacks {
				st := &s.Profile.Stacks[i]
				if frames := s.Frames(st.ID); st.LiveAtPeakBytes > most && len(frames) > 1 && want.function != "" {
					most, got.function, got.caller = st.LiveAtPeakBytes, frames[0].Function, frames[1].Function
				}
			}
			if want.bytes == 0 { // Go's runtime allocates different amounts for itself
				got = sums{function: got.function, caller: got.caller}
			}
			if got != want {
				t.Errorf("%+v, expected %+v", got, want)
			}
			err := s.Reader.Events(func(*event.Event) bool { return true })
			if err == nil || !strings.Contains(err.Error(), "tells sums only") {
				t.Errorf("events were made from sums: %v", err)
			}
		})
	}
}

// TestCompressed reads compressed files.
func TestCompressed(t *testing.T) {
	text := []byte("main;f 100\nmain;g 20\n")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(text)
	w.Close()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"plain": text, "gz": z.Bytes(), "zst": e.EncodeAll(text, nil)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := sumsOf(imported(t, path)); got.peak != 120 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFoldedTexts reads folded stacks as other tools write them: in other encodings, with comments, with numbers that
// are not integers.
func TestFoldedTexts(t *testing.T) {
	wide := func(order binary.AppendByteOrder, text string) []byte {
		b := order.AppendUint16(nil, 0xfeff)
		for _, u := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
	const text = "# made by hand\r\n// and by others 7\r\nmain;größe 😀 99.6\r\nmain;g 2e1\r\n//pkg:a;b 1\r\n"
	for name, b := range map[string][]byte{"UTF-8": []byte(text), "with a mark": []byte("\ufeff" + text),
		"UTF-16, little": wide(binary.LittleEndian, text), "UTF-16, big": wide(binary.BigEndian, text)} {
		path := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := imported(t, path)
		if got := sumsOf(s); got.leaked != 121 {
			t.Errorf("%s: %+v", name, got)
		}
		var names []string
		for i := range s.Profile.Stacks {
			for _, f := range s.Frames(s.Profile.Stacks[i].ID) {
				names = append(names, f.Function)
			}
		}
		if !slices.Contains(names, "größe 😀") || !slices.Contains(names, "//pkg:a") {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// TestPprofFixed reads a profile with numbers of fixed length, as other writers of Protocol Buffers may write them.
func TestPprofFixed(t *testing.T) {
	fixed := func(field int, v uint64) []byte {
		return binary.LittleEndian.AppendUint64([]byte{byte(field<<3 | 1)}, v)
	}
	short := func(field int, v uint32) []byte {
		return binary.LittleEndian.AppendUint32([]byte{byte(field<<3 | 5)}, v)
	}
	part := func(field int, list ...[]byte) []byte {
		b := bytes.Join(list, nil)
		return append([]byte{byte(field<<3 | 2), byte(len(b))}, b...)
	}
	b := slices.Concat(part(1, fixed(1, 1), short(2, 2)), part(2, fixed(1, 1), fixed(2, 300)),
		part(4, short(1, 1), part(4, fixed(1, 1), short(2, 7))),
		part(5, fixed(1, 1), fixed(2, 3)), part(6), part(6, []byte("inuse_space")), part(6, []byte("bytes")), part(6,
			[]byte("main")), fixed(9, 5), fixed(10, 6))
	path := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := imported(t, path)
	if got := sumsOf(s); got.leaked != 300 || s.Frames(s.Profile.Stacks[0].ID)[0].Function != "main" ||
		s.Reader.Process().Started != 5 {
		t.Errorf("%+v", got)
	}
}

// TestBroken reads invalid files: errors say where the fault is.
func TestBroken(t *testing.T) {
	const massifHead = "desc: a\ncmd: a\ntime_unit: ms\nsnapshot=0\ntime=0\nmem_heap_B=100\n"
	const schema = `{"$schema":"https://www.speedscope.app/file-format-schema.json",` +
		`"shared":{"frames":[{"name":"a"}]},"profiles":[`
	for text, want := range map[string]string{
		"":                  "unknown format",
		"\x00\x01\x02":      "unknown format",
		"hello, world\n":    "unknown format",
		"a;b 1\nc x\n":      "line 2: \"x\" is not a number",
		"a 1\nb 1$2\n":      "line 2: \"1$2\" is not a number",
		"a 1\nb 1e5_0\n":    "line 2: \"1e5_0\" is not a number",
		"a 1\nb $1$2$3$4\n": "line 2: 4 numbers, but 1 on earlier lines",
		"_mpTrace_;a $1$2$3$9223372036854775808\n":                                  "line 1: the numbers add up",
		"heap profile: 1: 2 [ 1: 2] @ contention\n":                                 "line 1",
		"heap profile: 1: 2 [ 1: 2] @ heapprofile\n 1: 2 [ 1: 2] @ 0x1\n1: 2 [ 1\n": "line 3",
		"heap profile: 1: 2 [ 1: 2] @ heapprofile\n\nMAPPED_LIBRARIES:\nzz\n":       "line 4",
		"heap_v2/1\n@ 0x1\n@ 0x2\n":                                                 "line 3: the call stack before",
		"heap_v2/1\n@ 0x1\n":                                                        "line 2: the file ends within",
		"heap_v2/1\n@ 0x1\n t*: 1: 99999999999999999999 [0: 0]\n":                   "line 3",
		massifHead + "heap_tree=empty\nsnapshot=1\n":                                "line 8: snapshot 1 is incomplete",
		massifHead + "heap_tree=peak\nn1: 100 all\n": "line 8: the tree of the " +
			"snapshot is incomplete",
		massifHead + "heap_tree=peak\nn1: 100 all\nn0: 100 f\n": "line 9: the tree: \"n0: 100 " +
			"f\" is indented by 0",
		massifHead + "heap_tree=peak\nn1: 100 all\n n0: 101 f\n": "line 9: the tree: 101 bytes",
		massifHead + "heap_tree=peak\nn0: 101 all\n": "snapshot 0 has 100 bytes, but its tree " +
			"has 101",
		`{"dhatFileVersion":2,"mode":"heap","pps":[{"fs":[9]}],"ftbl":["[root]"]}`: "pps[0].fs[0]: frame 9 of 1",
		`{"dhatFileVersion":2,"mode":"ad-hoc","pps":[],"ftbl":["[root]"]}`:         "mode",
		`{"dhatFileVersion":2,"mode":"heap","pps":[`:                               "byte 42",
		`{"dhatFileVersion":2,"mode":"heap","pps":[{"tb":-1}]}`:                    "byte 51",
		schema + `]}`: "profiles: none is of bytes",
		schema + `{"type":"sampled","unit":"bytes","samples":[[1]],"weights":[1]}]}`: "profiles[0]: samples[0]: " +
			"frame 1 of 1",
		schema + `{"type":"sampled","unit":"bytes","samples":[[0]],"weights":[-1]}]}`:           "weights[0]",
		schema + `{"type":"evented","unit":"bytes","events":[{"type":"O","frame":0,"at":0}]}]}`: "never closed",
		"\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04\x12\x04\n\x02\x01":                        "byte 12",
		"\n\x04\x08\x01\x10\x022\x002\x03cpu2\x02ns":                                            "not a memory profile",
		"\n\x04\x08\x01\x10\x02\x12\x06\n\x01\x09\x12\x01\x05" +
			"2\x002\x0binuse_space2\x05bytes": "sample 0: location 9 is missing",
		"\x1f\x8b": "in:",
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "in")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := File(t.Context(), file, filepath.Join(dir, "out.htap"), "test", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %v; expected %q", text, err, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%.100q: left behind %v %v", text, left, err)
		}
	}
}

// TestCut reads every beginning of every sample: it gives an error, or a consistent recording.
func TestCut(t *testing.T) {
	for name := range samples {
		if filepath.Ext(name) == ".gz" {
			continue // a truncated gzip file is always an error
		}
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		for n := 0; n < len(b); n += 97 {
			if err := os.WriteFile(path, b[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			to := path + ".htap"
			if File(t.Context(), path, to, "test", "") != nil {
				continue
			}
			if r, err := verify.File(to); err != nil || !r.OK {
				t.Errorf("%s, the first %d bytes: %v %+v", name, n, err, r)
			}
		}
	}
}

// TestBombs reads files of some thousand bytes that unpack to gigabytes, and files whose parts are far smaller than any
// tool writes: they are refused before they take much memory.
func TestBombs(t *testing.T) {
	dhat := `{"dhatFileVersion":2,"mode":"heap","cmd":"x","pps":[`
	speedscope := `{"$schema":"https://www.speedscope.app/file-format-schema.json",` +
		`"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"sampled","name":"live","unit":"bytes",`
	for name, c := range map[string]struct{ head, part, want string }{
		"points":             {dhat, `{},`, "a list of more than"},
		"frames":             {dhat + `{"fs":[`, `0,`, "a value of more than"},
		"long name":          {dhat + `],"ftbl":["`, `0x1: (in`, "a value of more than"},
		"same names":         {dhat + `],"ftbl":["a"`, `,"0x1: f (a.c:1)"`, "more than 1048576 frames"},
		"names":              {dhat + `],"ftbl":[`, `"",`, "a list of more than"},
		"samples":            {speedscope + `"samples":[`, `[],`, "a list of more than"},
		"weights":            {speedscope + `"weights":[`, `0,`, "a list of more than"},
		"changes":            {speedscope + `"events":[`, `{"type":"O"},`, "a list of more than"},
		"fields":             {speedscope, `"":0,`, "an object of more than"},
		"empty lines":        {"a 1\n", "\n", "more than 4194304 lines"},
		"short lines":        {"a 1\n", "a 1\n", "lines that are shorter"},
		"long lines":         {"a 1\n", "a;", "too long"},
		"pprof texts":        {"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01a", "\x32\x00", "it unpacks to more than"},
		"heaptrack":          {"v 10600 3\nX x\n", "#\n", "lines that are shorter"},
		"heaptrack's tables": {"v 10600 3\nX x\ns 1 a\n", "i 1 0\n", "names, addresses and call stacks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "bomb")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			_, err = z.Write([]byte(c.head))
			part := bytes.Repeat([]byte(c.part), 1<<20/len(c.part))
			for range 40 {
				if err == nil {
					_, err = z.Write(part)
				}
			}
			if err := errors.Join(err, z.Close(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if err := File(t.Context(), path, filepath.Join(dir, "out.htap"), "test", ""); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; expected %q", err, c.want)
			}
		})
	}
}

// TestCancelled: a file is not read on once nobody waits for it, and leaves nothing behind.
func TestCancelled(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	to := filepath.Join(t.TempDir(), "out.htap")
	for _, name := range []string{"go.pb.gz", "shop.dhat.json", "shop.massif.out", "shop.jemalloc.heap"} {
		if err := File(ctx, filepath.Join("testdata", name), to, "test", ""); !errors.Is(err, gone) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

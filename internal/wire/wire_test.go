package wire

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/wire.golden from agent/src/wire.h")

const headerFile = "../../agent/src/wire.h"

// structs maps C's names to Go's types. Field names follow a rule (cField).
var structs = map[string]any{
	"ht_chunk": Chunk{}, "ht_stream": Stream{}, "ht_proc": Proc{}, "ht_pc": PC{}, "ht_node": Node{},
	"ht_module": Module{}, "ht_meta": Meta{}, "ht_header": Header{}, "ht_counts_row": CountsRow{},
	"ht_counts": Counts{}, "ht_name": Name{},
}

// constants maps C's names to Go's values.
var constants = map[string]uint64{
	"HT_WIRE_VERSION": Version, "HT_SPOOL_MAGIC": SpoolMagic, "HT_CHUNK_MAGIC": ChunkMagic, "HT_NONE": None,
	"HT_ADDR_BITS": AddrBits, "HT_ADDR_MASK": AddrMask, "HT_KIND_SHIFT": KindShift, "HT_SLACK_SHIFT": SlackShift,
	"HT_SLACK_EXTRA": SlackExtra, "HT_SIZE_EXTRA": SizeExtra, "HT_CLASS_SHIFT": ClassShift,
	"HT_CLASS_STACK": ClassStack, "HT_CLASS_SHORT": ClassShort, "HT_CLASS_EXTRA": ClassExtra,
	"HT_CLASS_NOTE": ClassNote, "HT_K_STACK": KStack, "HT_K_MARK": KMark, "HT_K_REGION_BEGIN": KRegionBegin,
	"HT_K_REGION_END": KRegionEnd, "HT_K_THREAD_NAME": KThreadName, "HT_K_RANGE_NAME": KRangeName,
	"HT_X_SAMPLED": XSampled, "HT_X_ID": XID, "HT_SAMPLED_CALLS": SampledCalls, "HT_BUSY_CONTROL": BusyControl,
	"HT_MODE_EXACT": ModeExact, "HT_MODE_SAMPLED": ModeSampled, "HT_MODE_COUNT": ModeCount, "HT_MODE_OFF": ModeOff,
	"HT_MODE_MASK": ModeMask, "HT_SIZE_CLASSES": SizeClasses, "HT_TIME_CLASSES": TimeClasses,
	"HT_SEG_COUNTS": SegCounts, "HT_SEG_NAMES": SegNames, "HT_RECORD_MAX": RecordMax,
	"HT_K_MALLOC": KMalloc, "HT_K_CALLOC": KCalloc, "HT_K_REALLOC": KRealloc, "HT_K_REALLOCARRAY": KReallocarray,
	"HT_K_POSIX_MEMALIGN": KPosixMemalign, "HT_K_ALIGNED_ALLOC": KAlignedAlloc, "HT_K_MEMALIGN": KMemalign,
	"HT_K_VALLOC": KValloc, "HT_K_PVALLOC": KPvalloc, "HT_K_NEW": KNew, "HT_K_NEW_ARRAY": KNewArray,
	"HT_K_NEW_NOTHROW": KNewNothrow, "HT_K_NEW_ARRAY_NOTHROW": KNewArrayNothrow, "HT_K_NEW_ALIGNED": KNewAligned,
	"HT_K_NEW_ARRAY_ALIGNED": KNewArrayAligned, "HT_K_NEW_ALIGNED_NOTHROW": KNewAlignedNothrow,
	"HT_K_NEW_ARRAY_ALIGNED_NOTHROW": KNewArrayAlignedNothrow, "HT_K_STACKED": KStacked, "HT_K_MMAP": KMmap,
	"HT_K_MUNMAP": KMunmap, "HT_K_MREMAP": KMremap, "HT_K_BRK": KBrk, "HT_K_FREE": KFree,
	"HT_K_REALLOC_BEGIN": KReallocBegin, "HT_K_CFREE": KCfree, "HT_K_FREE_SIZED": KFreeSized,
	"HT_K_FREE_ALIGNED_SIZED": KFreeAlignedSized, "HT_K_DELETE": KDelete, "HT_K_DELETE_ARRAY": KDeleteArray,
	"HT_K_DELETE_SIZED": KDeleteSized, "HT_K_DELETE_ARRAY_SIZED": KDeleteArraySized,
	"HT_K_DELETE_NOTHROW": KDeleteNothrow, "HT_K_DELETE_ARRAY_NOTHROW": KDeleteArrayNothrow,
	"HT_K_DELETE_ALIGNED": KDeleteAligned, "HT_K_DELETE_ARRAY_ALIGNED": KDeleteArrayAligned,
	"HT_K_DELETE_SIZED_ALIGNED": KDeleteSizedAligned, "HT_K_DELETE_ARRAY_SIZED_ALIGNED": KDeleteArraySizedAligned,
	"HT_K_DELETE_ALIGNED_NOTHROW":       KDeleteAlignedNothrow,
	"HT_K_DELETE_ARRAY_ALIGNED_NOTHROW": KDeleteArrayAlignedNothrow,
	"HT_X_SIZE":                         XSize, "HT_X_USABLE": XUsable, "HT_X_ALIGN": XAlign, "HT_X_COUNT": XCount,
	"HT_X_OLD": XOld, "HT_X_OLD_SIZE": XOldSize, "HT_X_POOL": XPool, "HT_K_POOL_ALLOC": KPoolAlloc,
	"HT_K_POOL_MOVE": KPoolMove, "HT_K_POOL_FREE": KPoolFree, "HT_K_POOL_MOVE_BEGIN": KPoolMoveBegin,
	"HT_K_POOL_BACKING": KPoolBacking, "HT_K_POOL_CLEAR": KPoolClear, "HT_K_POOL_DESTROY": KPoolDestroy,
	"HT_PC_POOL": PCPool, "HT_CHUNK_SIZE": ChunkSize, "HT_CHUNK_HEADER": ChunkHeaderSize, "HT_STREAM_FREE": StreamFree,
	"HT_SEAL_FILL": SealFill, "HT_STREAM_LIVE": StreamLive, "HT_STREAM_ENDED": StreamEnded, "HT_ENDED": Ended,
	"HT_POS_SHIFT": PosShift,
	"HT_PROC_FREE": ProcFree, "HT_PROC_LIVE": ProcLive, "HT_PC_INTERRUPTED": PCInterrupted, "HT_PC_SMALL": PCSmall,
	"HT_NODE_TRUNCATED": NodeTruncated, "HT_MODULE_LOAD": ModuleLoad, "HT_MODULE_UNLOAD": ModuleUnload,
	"HT_MODULE_APART": ModuleApart, "HT_APART_MALLOC": ApartMalloc, "HT_APART_DEEPBIND": ApartDeepbind,
	"HT_APART_NAMESPACE": ApartNamespace, "HT_SEG_NONE": SegNone, "HT_SEG_META": SegMeta, "HT_SEG_PROCS": SegProcs,
	"HT_SEG_STREAMS": SegStreams, "HT_SEG_CHUNKS": SegChunks, "HT_SEG_PCS": SegPCs, "HT_SEG_NODES": SegNodes,
	"HT_SEG_MODULES": SegModules, "HT_SEG_TYPES": SegTypes, "HT_LIST_EMPTY": ListEmpty,
	"HT_C_LOST": CLost, "HT_C_TRUNCATED": CTruncated, "HT_C_BAD_CFI": CBadCFI, "HT_C_GUESSED": CGuessed,
	"HT_C_TABLE_FULL": CTableFull, "HT_C_NO_THREAD": CNoThread, "HT_C_SPILLED": CSpilled, "HT_C_WAITS": CWaits,
	"HT_C_FULL_STEPS": CFullSteps, "HT_C_BOOT": CBoot,
	"HT_C_ALLOC_TICKS": CAllocTicks, "HT_C_ALLOC_TIMED": CAllocTimed, "HT_C_FREE_TICKS": CFreeTicks,
	"HT_C_FREE_TIMED": CFreeTimed, "HT_C_FORBIDDEN": CForbidden, "HT_C_STOPPED": CStopped, "HT_COUNTERS": Counters,
	"HT_RECORDER_NONE": RecorderNone, "HT_RECORDER_EXPECTED": RecorderExpected, "HT_RECORDER_HERE": RecorderHere,
	"HT_SEGMENTS": Segments, "HT_HEADER_SIZE": HeaderSize,
}

var fieldNames = map[string]string{
	"ExeSize": "exe_size", "UID": "uid", "TID": "tid", "PID": "pid", "PC": "pc", "ID": "id",
	"BuildIDSize": "build_id_size",
	"NextUID":     "next_uid", "NextPC": "next_pc", "RecorderPID": "recorder_pid",
}

// cField turns a Go field name into C's: FirstChunk into first_chunk.
func cField(name string) string {
	if s, ok := fieldNames[name]; ok {
		return s
	}
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// goLines returns Go's layout in the form that the C program prints.
func goLines() []string {
	var lines []string
	for name, v := range structs {
		t := reflect.TypeOf(v)
		lines = append(lines, fmt.Sprintf("sizeof %s %d", name, t.Size()))
		for i := range t.NumField() {
			f := t.Field(i)
			lines = append(lines, fmt.Sprintf("field %s.%s %d %d", name, cField(f.Name), f.Offset, f.Type.Size()))
		}
	}
	for name, v := range constants {
		lines = append(lines, fmt.Sprintf("const %s %d", name, v))
	}
	sort.Strings(lines)
	return lines
}

// cProgram prints the same lines from the header.
func cProgram() string {
	var b strings.Builder
	b.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"wire.h\"\nint main(void) {\n")
	for name, v := range structs {
		t := reflect.TypeOf(v)
		fmt.Fprintf(&b, "printf(\"sizeof %s %%zu\\n\", sizeof(struct %s));\n", name, name)
		for i := range t.NumField() {
			f := cField(t.Field(i).Name)
			fmt.Fprintf(&b, "printf(\"field %s.%s %%zu %%zu\\n\", offsetof(struct %s, %s), sizeof(((struct %s "+
				"*)0)->%s));\n",
				name, f, name, f, name, f)
		}
	}
	for name := range constants {
		fmt.Fprintf(&b, "printf(\"const %s %%llu\\n\", (unsigned long long)(%s));\n", name, name)
	}
	b.WriteString("return 0; }\n")
	return b.String()
}

func cLines(t *testing.T) []string {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		return nil
	}
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(src, []byte(cProgram()), 0o600); err != nil {
		t.Fatal(err)
	}
	include, err := filepath.Abs(filepath.Dir(headerFile))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-I", include, "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile with this package's names: %v\n%s", headerFile, err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	sort.Strings(lines)
	return lines
}

// TestLayout compares sizes, offsets and constants with what a C compiler makes of the header, or, without a compiler,
// with the golden file.
func TestLayout(t *testing.T) {
	golden := filepath.Join("testdata", "wire.golden")
	want := cLines(t)
	if want == nil {
		b, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		want = strings.Split(strings.TrimSpace(string(b)), "\n")
	} else if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if b, err := os.ReadFile(golden); err != nil ||
		!bytes.Equal(bytes.TrimSpace(b), []byte(strings.Join(want, "\n"))) {
		t.Errorf("%s is not what the compiler says: run go test ./internal/wire -update", golden)
	}
	got := goLines()
	has := map[string]bool{}
	for _, l := range want {
		has[l] = true
	}
	for _, l := range got {
		if !has[l] {
			t.Errorf("Go says %q, C does not", l)
		}
	}
	if len(got) != len(want) {
		t.Errorf("Go has %d facts, C %d", len(got), len(want))
	}
}

// TestHeaderComplete reads the header's text: every constant and every field in it must be known to the test above.
func TestHeaderComplete(t *testing.T) {
	b, err := os.ReadFile(headerFile)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`//[^\n]*`).ReplaceAllString(string(b), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	name := regexp.MustCompile(`(?m)^\s*(?:#define[ \t]+)?(HT_[A-Z0-9_]+)(?:[ \t]*=|[ \t]+[^ \t\n])`)
	for _, m := range name.FindAllStringSubmatch(text, -1) {
		if _, ok := constants[m[1]]; !ok && m[1] != "HT_WIRE_H" {
			t.Errorf("%s defines %s, which Go does not have", headerFile, m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?s)\nstruct (ht_\w+) \{(.*?)\n\};`).FindAllStringSubmatch(text, -1) {
		v, ok := structs[m[1]]
		if !ok {
			t.Errorf("%s defines struct %s, which Go does not have", headerFile, m[1])
			continue
		}
		fields := map[string]bool{}
		for i := range reflect.TypeOf(v).NumField() {
			fields[cField(reflect.TypeOf(v).Field(i).Name)] = true
		}
		for _, d := range strings.Split(m[2], ";") {
			d = regexp.MustCompile(`\[[^\]]*\]`).ReplaceAllString(d, "")
			names := strings.Split(d, ",")
			for _, n := range names {
				if f := strings.Fields(n); len(f) > 0 && !fields[f[len(f)-1]] {
					t.Errorf("struct %s has a field %s, which Go does not have", m[1], f[len(f)-1])
				}
			}
		}
	}
}

func TestRecord(t *testing.T) {
	for _, r := range []Record{
		{Addr: 0x7f1234567890, Kind: KMalloc, Slack: 8, Size: 100, Stack: 7, Time: 1 << 40},
		{Addr: AddrMask, Kind: KFree, Time: 1<<64 - 1},
		{Kind: XSize, Value: 1 << 40},
		{Addr: 16, Kind: KStacked | KFree&31, Stack: None, Time: 5},
	} {
		want := r
		switch Class(r.Kind) {
		case ClassStack:
			want.Value = uint64(r.Size) | uint64(r.Stack)<<32
		case ClassShort:
			want.Value = r.Time
		}
		b := Append(nil, r)
		var got Record
		if n := Decode(b, &got); n != len(b) || got != want {
			t.Errorf("Decode gave %+v, %d bytes; want %+v, %d", got, n, want, len(b))
		}
		if n := RecordSize(Word0(r.Addr, r.Kind, r.Slack)); n != len(b) {
			t.Errorf("RecordSize of kind %d is %d, want %d", r.Kind, n, len(b))
		}
		for i := range b {
			if n := Decode(b[:i], &got); n != 0 {
				t.Errorf("Decode of %d of %d bytes gave %d", i, len(b), n)
			}
		}
	}
	if n := RecordSize(Word0(0, 0xff, 0)); n != 0 {
		t.Errorf("kind 255 has size %d, want 0", n)
	}
}

func TestEvents(t *testing.T) {
	var b []byte
	b = Append(b, Record{Kind: XAlign, Value: 64})
	b = Append(b, Record{Kind: XUsable, Value: 64})
	b = Append(b, Record{Kind: KMemalign, Time: 1})
	b = Append(b, Record{Kind: KFree, Time: 2})
	if e, n := Events(b); e != 2 || n != len(b) {
		t.Errorf("Events gave %d events in %d bytes, want 2 in %d", e, n, len(b))
	}
	if e, n := Events(b[:len(b)-1]); e != 1 || n != len(b)-16 {
		t.Errorf("Events of a cut sequence gave %d, %d", e, n)
	}
	if e, n := Events(append(b[:len(b):len(b)], bytes.Repeat([]byte{0xff}, 32)...)); e != 2 || n != len(b) {
		t.Errorf("Events of a sequence with garbage at its end gave %d, %d", e, n)
	}
}

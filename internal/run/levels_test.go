package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// busy lets a program allocate and free for a second, and returns the most live bytes.
func (d *recorded) busy(seed uint64) (most int64) {
	d.r.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	live, blocks := int64(max(1, d.p.live)), []uint64{}
	sizes := map[uint64]uint64{}
	most = live
	for i := range 2000 {
		e := event.Event{Time: int64(i) * 500_000, Kind: event.Alloc, Size: 1 + rng.Uint64N(1000), Ref: event.NoRef}
		if len(blocks) > 0 && rng.IntN(2) == 0 {
			e = event.Event{Time: e.Time, Kind: event.Free, Ref: blocks[0], Size: sizes[blocks[0]]}
			live -= int64(e.Size)
			blocks = blocks[1:]
		} else {
			ref := uint64(len(sizes) + 1)
			sizes[ref], blocks = e.Size, append(blocks, ref)
			live += int64(e.Size)
		}
		most = max(most, live)
		if err := d.out.Event(&e); err != nil {
			d.r.t.Fatal(err)
		}
	}
	return most
}

// TestLevels: a run keeps how the memory of its programs developed, as a folder and as one file; a run without it, or
// whose recorder was killed, reads the same from the recordings.
func TestLevels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "make.7.htap")
	w := newRecorder(t, path, 7)
	most := map[int]int64{}
	main := w.begin(program{7, 1, []string{"make"}, 10, 1000})
	most[7] = main.busy(7)
	for pid := 8; pid < 30; pid++ {
		d := w.begin(program{pid, 7, []string{"cc1", "a.c"}, 500, int64(9000 * pid)})
		if most[pid] = d.busy(uint64(pid)); pid%10 == 0 {
			d.large()
		}
		d.end(0)
	}
	main.end(0)
	w.Close()
	want := levelsOf(t, path, most)
	for i, p := range open(t, path).Programs() {
		if p.Levels == nil {
			t.Errorf("the index has no levels of process %d", p.Pid)
		}
		if !slices.Equal(p.Levels, want[i]) {
			t.Errorf("process %d: %v, and %v", p.Pid, p.Levels, want[i])
		}
	}
	packed := filepath.Join(t.TempDir(), "make.htap")
	if err := run.Pack(path, packed); err != nil {
		t.Fatal(err)
	}
	same(t, "in one file", levelsOf(t, packed, most), want)
	if p := open(t, packed).Programs()[0]; p.Levels == nil {
		t.Error("the file has no levels")
	}
	withoutLevels(t, path)
	if p := open(t, path).Programs()[0]; p.Levels != nil {
		t.Fatal("there are levels in the index")
	}
	same(t, "of an earlier version", levelsOf(t, path, most), want)
	again := filepath.Join(t.TempDir(), "again.htap")
	if err := run.Pack(path, again); err != nil {
		t.Fatal(err)
	}
	if p := open(t, again).Programs()[0]; p.Levels == nil {
		t.Error("packing has not added levels")
	}
	// The index is lost: some programs are in the pack, which has their levels, and the others are files.
	if err := os.Truncate(filepath.Join(path, "index"), 0); err != nil {
		t.Fatal(err)
	}
	r := open(t, path)
	if r.Damage() == "" {
		t.Error("a run without an index is not damaged")
	}
	got, err := r.Levels(t.Context())
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d programs, %v", len(got), err)
	}
	for i, p := range r.Programs() {
		if highest(got[i]) != most[p.Pid] {
			t.Errorf("process %d: %v, want at most %d", p.Pid, got[i], most[p.Pid])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Levels(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// levelsOf returns a run's levels, and checks them.
func levelsOf(t *testing.T, path string, most map[int]int64) []run.Levels {
	t.Helper()
	r := open(t, path)
	list, err := r.Levels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range r.Programs() {
		l := list[i]
		if len(l) < 40 || len(l) > 64 || highest(l) != most[p.Pid] || l[len(l)-1].Time != int64(time.Second) ||
			l[len(l)-1].Resident != p.PeakResident {
			t.Errorf("%s: process %d: %v, want at most %d", path, p.Pid, l, most[p.Pid])
		}
	}
	return list
}

func highest(l run.Levels) (most int64) {
	for _, v := range l {
		most = max(most, v.Live)
	}
	return most
}

func same(t *testing.T, what string, got, want []run.Levels) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d programs, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("%s: program %d has %v, want %v", what, i, got[i], want[i])
		}
	}
}

// withoutLevels makes a run's index what an earlier version wrote.
func withoutLevels(t *testing.T, path string) {
	t.Helper()
	name := filepath.Join(path, "index")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for line := range bytes.Lines(text) {
		var l map[string]any
		d := json.NewDecoder(bytes.NewReader(line[9:]))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		for _, v := range l {
			if p, ok := v.(map[string]any); ok {
				delete(p, "levels")
			}
		}
		b, _ := json.Marshal(l)
		out = fmt.Appendf(out, "%08x %s\n", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)), b)
	}
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLevelsText: what is written is read again, and forged levels are refused.
func TestLevelsText(t *testing.T) {
	list := run.Levels{{0, 0, -1}, {100, 1 << 62, 5}, {1 << 40 * recording.Quantum, 3, -1}}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var got run.Levels
	if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, list) {
		t.Fatalf("%v, %v", got, err)
	}
	long, _ := json.Marshal(make(run.Levels, 1025))
	for _, text := range []string{`"AA=="`, `"AAE="`, `"////////////////AAAA"`, `"AAEA"`, `7`, `"gIA="`, string(long)} {
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%.20s: %v", text, got)
		}
	}
}

// BenchmarkLevels opens a run of 1,000 programs, and reads their levels from its index.
func BenchmarkLevels(b *testing.B) {
	path := filepath.Join(b.TempDir(), "make.7.htap")
	w := newRecorder(b, path, 7)
	for pid := 8; pid < 1008; pid++ {
		d := w.begin(program{pid, 7, []string{"cc1", "a.c"}, 500, 9000})
		d.busy(uint64(pid))
		d.end(0)
	}
	w.Close()
	b.Run("index", func(b *testing.B) {
		for b.Loop() {
			r, err := run.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Levels(b.Context()); err != nil {
				b.Fatal(err)
			}
			r.Close()
		}
	})
}

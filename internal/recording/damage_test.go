package recording_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/tally"
)

// small makes a recording with every kind of block, and two of events.
func small(t testing.TB, finish bool) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Args: []string{"a", "b"}, Env: []string{"X=1"}},
		recording.Options{Addresses: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: "t", Start: int64(i) * 100})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/a", BuildID: []byte{1, 2}, Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	for i := range uint32(6) {
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i), Module: 1, Interrupted: i == 3})
		w.Node(i+1, event.Node{Parent: i, PC: i + 1, Truncated: i == 0})
	}
	for _, m := range someMarks {
		w.Mark(m)
	}
	for _, n := range someRegions {
		w.Region(n)
	}
	for _, n := range someRanges {
		w.Range(n)
	}
	for _, p := range someReadings {
		w.PageReading(p)
	}
	w.Sample(event.Sample{Time: 5, RSS: 100, PSS: -1})
	w.Sample(event.Sample{Time: 15, RSS: 200, PSS: -1})
	events := program{threads: 3, stacks: 6, window: 10, burst: 3, lifo: .5, realloc: .1, tick: 100, odd: true,
		allFrees: true}.run(3, 80)
	sum := tally.New()
	for i := range events {
		sum.Add(&events[i])
	}
	if err := w.Events(events[:50]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.Events(events[50:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.Symbols(map[uint32][]event.Frame{1: {{Function: "f", File: "x.c", Line: 3, Inlined: true},
		{Function: "g"}},
		2: nil}); err != nil {
		t.Fatal(err)
	}
	if err := w.Counts(someCounts); err != nil {
		t.Fatal(err)
	}
	if finish {
		err = w.Finish(recording.Ending{End: 1e6, Exited: true, Code: 3,
			Health: event.Health{Waits: 2, Notes: []string{"n"}},
			Tally:  sum})
	} else {
		err = w.Abort()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTruncatedKeepsWholeBlocks: what was flushed before a crash can be read.
func TestTruncatedKeepsWholeBlocks(t *testing.T) {
	t.Parallel()
	good := small(t, true)
	r, err := recording.NewReader(bytes.NewReader(good), int64(len(good)), "x.htap")
	if err != nil {
		t.Fatal(err)
	}
	second := eventBlocks(r)[1]
	a, whole, err := ask(good[:second.Offset+second.Size], 80)
	if err != nil || whole || len(a.Events) != 80 {
		t.Errorf("cut after the second block: %d events, whole %v, %v", len(a.Events), whole, err)
	}
	if a.Tally.Totals.Events != 80 {
		t.Errorf("counted %d events", a.Tally.Totals.Events)
	}
	a, whole, err = ask(good[:second.Offset+second.Size-1], 80)
	if err != nil || whole || len(a.Events) != 50 {
		t.Errorf("cut within the second block: %d events, whole %v, %v", len(a.Events), whole, err)
	}
	// A block in the middle is lost: the one after it is still read, and the error says what is lost.
	b := bytes.Clone(good)
	b[eventBlocks(r)[0].Offset+recording.HeaderLength+10] ^= 1
	a, _, err = ask(b, 80)
	var damage *recording.DamageError
	if !errors.As(err, &damage) || len(a.Events) != 30 {
		t.Errorf("first block damaged: %d events, %v", len(a.Events), err)
	}
	// It does so also if the range ends within a block, but not if yield ended it before.
	for _, enough := range []bool{false, true} {
		d, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), "x.htap")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = d.Walk(t.Context(), 0, 60, func(_, _ uint64, _ *event.Event) bool {
			n++
			return !enough
		})
		if errors.As(err, &damage) == enough || !enough && n != 10 || enough && n != 1 {
			t.Errorf("up to event 60: %d events, %v", n, err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	good := small(t, true)
	newer := recording.FileHeader(7, 0)
	flags := recording.FileHeader(1, 4)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":     {nil, "a.htap: the file is empty"},
		"elf":       {[]byte("\x7fELF\x02\x01\x01"), "a.htap: not a heaptap recording"},
		"text":      {[]byte("hello"), "a.htap: not a heaptap recording"},
		"short":     {good[:20], "a.htap: the file ends within its header (20 of 32 bytes)"},
		"newer":     {newer, "a.htap: format version 7 is newer than this heaptap (1); update heaptap"},
		"feature":   {flags, "a.htap: uses features that this heaptap does not know (flags 0x4); update heaptap"},
		"checksum":  {append(bytes.Clone(good[:28]), 1, 2, 3, 4), "a.htap: the header is damaged (checksum)"},
		"text mode": {append([]byte("\x89HTAP\n\x1a"), good...), "a.htap: not a heaptap recording"},
	} {
		path := filepath.Join(dir, "a.htap")
		if err := os.WriteFile(path, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := recording.Open(path)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := recording.Open(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
}

// TestForgedLengths: large lengths in a forged file do not make the reader take much memory.
func TestForgedLengths(t *testing.T) {
	t.Parallel()
	p := column.NewPayload()
	// A table of millions of nodes that packs to nearly nothing, many times over.
	p.Uint(4 << 20)
	zeros := make([]byte, 4<<20)
	p.Column(1, bytes.Repeat([]byte{2}, 4<<20))
	p.Column(2, zeros)
	p.Column(3, zeros)
	bomb := p.Bytes()
	file := recording.FileHeader(1, 0)
	for i := range 200 {
		file = append(recording.AppendBlockHeader(file, recording.BlockNodes, uint32(i), bomb), bomb...)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), "bomb.htap")
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3<<29 {
		t.Errorf("a file of %d bytes made the reader allocate %d", len(file), n)
	}
	if !strings.Contains(strings.Join(r.Damage(), "\n"), "unpack to more than") {
		t.Errorf("damage: %q", r.Damage())
	}
}

// TestForgedBlocks: nor do large numbers in a block of events or a summary.
func TestForgedBlocks(t *testing.T) {
	t.Parallel()
	const huge = 4 << 20
	zeros := make([]byte, huge)
	forge := func(typ recording.BlockType, build func(p *column.Payload)) []byte {
		file := levels(t, 1, false)
		p := column.NewPayload()
		build(p)
		return append(recording.AppendBlockHeader(file, typ, 99, p.Bytes()), p.Bytes()...)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"summary": {forge(recording.BlockSummary, func(p *column.Payload) {
			h := block.SummaryHead{Level: 1, Blocks: 1, Changes: huge, Events: 6}
			p.Fields(h.Fields)
			p.Column(1, bytes.Repeat([]byte{2}, huge))
			for id := column.ID(8); id <= 13; id++ {
				p.Column(id, zeros)
			}
		}), "summary would unpack to more than"},
		"threads": {forge(recording.EventsBlock, func(p *column.Payload) {
			h := block.Head{Events: recording.BlockEvents, FirstEvent: 6, FirstAlloc: 6, Begin: 1 << 40, End: 1 << 40,
				Threads: recording.BlockEvents}
			p.Fields(h.Fields)
			p.Column(1, bytes.Repeat(zeros, 4)[:25*recording.BlockEvents])
		}), "its head is invalid"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := recording.NewReader(bytes.NewReader(c.file), int64(len(c.file)), "forged.htap")
		if err != nil {
			t.Fatal(err)
		}
		_, last := r.Cuts()
		_, err = timetravel.Changes(t.Context(), r, 0, last)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<29 {
			t.Errorf("%s: a file of %d bytes made the reader allocate %d", name, len(c.file), n)
		}
	}
}

// TestUnknownBlocks: a newer minor version may add blocks and columns.
func TestUnknownBlocks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.htap")
	w, err := recording.Create(path, event.Process{PID: 7}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	events := programs["python"].run(1, 1000)
	if err := w.Events(events); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	w.AppendBlock(77, []byte("from the future"))
	if err := w.Finish(recording.Ending{}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); len(got) != len(events) {
		t.Errorf("%d events of %d", len(got), len(events))
	}
}

// fixChecksums makes the blocks of b valid, as far as their lengths make sense.
func fixChecksums(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) < recording.FileHeaderLength {
		return b
	}
	copy(b, recording.FileHeader(1, 0))
	for at := recording.FileHeaderLength; at+recording.HeaderLength <= len(b); {
		h := b[at:]
		typ := recording.BlockType(h[4]) | recording.BlockType(h[5])<<8
		length := uint32(h[8]) | uint32(h[9])<<8 | uint32(h[10])<<16 | uint32(h[11])<<24
		rest := uint32(len(b) - at - recording.HeaderLength)
		length = min(length, rest)
		copy(h, recording.AppendBlockHeader(nil, typ, uint32(h[12]), b[at+recording.HeaderLength:][:length]))
		at += recording.HeaderLength + int(length)
	}
	return b
}

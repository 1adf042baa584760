package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// tortureSet is all files to try. Each has a number, which depends only on the original files and the seed.
type tortureSet struct {
	dir   string
	seed  uint64
	good  map[string][]byte // the original files
	parts []torturePart
}

// torturePart is the files made from one file in one way.
type torturePart struct {
	name  string
	many  int // of them
	brief int // how many of them `make test` tries
	make  func(i int) tortureInput
}

// tortureInput is a file to try, and those that belong to it.
type tortureInput struct {
	files    map[string][]byte
	main     string
	good     string // the path of an intact recording
	commands []string
}

// The original files. Every byte of the first three is flipped, and every length of them tried.
var tortureSmall = []string{"plain.htap", "levels.htap", "unfinished.htap"}

var tortureOthers = []string{"folded.htap", "merged.htap"}

// tortureImports are files of other tools.
var tortureImports = []string{"shop.massif.out", "shop.dhat.json", "shop.gperftools.heap", "shop.jemalloc.heap",
	"go.pb.gz"}

// makeTorture makes the original files, in a folder.
func makeTorture(t *testing.T, dir string) *tortureSet {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(tortureRecording(at("plain.htap"), recording.Options{Addresses: true}, 120, 50, true))
	check(tortureRecording(at("levels.htap"), recording.Options{}, 120, 6, true))
	check(tortureRecording(at("unfinished.htap"), recording.Options{Addresses: true}, 60, 25, false))
	check(deepRecording(at("deep.htap"), 400_000, 20_000))
	check(tortureRecording(at("folded.htap"), recording.Options{Fold: recording.Fold{MaxSize: 8_000}}, 9_000, 450,
		true))
	if out, err := command(t, "heaptap", "merge", "-o", at("merged.htap"), at("plain.htap"),
		at("levels.htap")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"plain.htap", "levels.htap", "folded.htap", "merged.htap"} {
		if out, err := command(t, "heaptap", "verify", "-v", at(name)).CombinedOutput(); err != nil {
			t.Fatalf("%s is not right before anything was done to it: %v\n%s", name, err, out)
		}
	}
	tortureSpool(t, dir)
	for _, name := range tortureImports {
		b, err := os.ReadFile(filepath.Join("..", "..", "internal", "import", "testdata", name))
		check(err)
		check(os.WriteFile(at(name), b, 0o600))
	}
	set, err := loadTorture(dir, *tortureSeed)
	check(err)
	return set
}

// tortureRecording makes a recording with every kind of block, and with hostile names.
func tortureRecording(path string, o recording.Options, events, each int, finish bool) error {
	w, err := recording.Create(path, event.Process{PID: 7, Exe: "/bin/a", Args: []string{"a", "\x1b[31mb"},
		Env: []string{"X=1"}, Started: 1e18}, o)
	if err != nil {
		return err
	}
	for i := range uint32(3) {
		w.Thread(i, event.Thread{TID: 100 + i, Name: fmt.Sprintf("=t%d", i)})
	}
	w.Module(event.Module{ID: 1, Path: "/bin/a", BuildID: []byte{1, 2}, Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	w.Module(event.Module{ID: 2, Path: "/lib/b\x1b.so", Start: 16384, End: 20000, Loaded: 0, Unload: -1})
	frames := make(map[uint32][]event.Frame)
	for i := range uint32(8) {
		module := 1 + i%2
		w.PC(i+1, event.PC{Addr: 4096*uint64(1+3*(i%2)) + uint64(i), Module: module, Interrupted: i == 3})
		w.Node(i+1, event.Node{Parent: i / 2, PC: i + 1, Truncated: i == 7})
		frames[i+1] = []event.Frame{{Function: fmt.Sprintf("f%d", i), File: "x.c", Line: 3 + i, Inlined: true},
			{Function: "=g\x1b", File: "/src/y.c", Line: 9}}
	}
	w.Sample(event.Sample{Time: 5, RSS: 100, PSS: -1})
	w.Sample(event.Sample{Time: 15, RSS: 200, PSS: -1})
	w.StackUse(event.StackUse{Time: 10, Thread: 1, Bytes: 4096})
	r := rand.New(rand.NewPCG(uint64(events), 5))
	type block struct {
		e   event.Event
		ref uint64
	}
	var live []block
	last := [3]uint64{event.NoRef, event.NoRef, event.NoRef}
	now, allocs := int64(100), uint64(0)
	alloc := func(thread uint32, flags event.Flags) error {
		e := event.Event{Kind: event.Alloc, Func: event.Malloc, Time: now, Thread: thread, Stack: uint32(1 + r.IntN(8)),
			Size: uint64(r.IntN(500)),
			Addr: 0x10000 + allocs*1024, Ref: event.NoRef, Flags: flags | event.HasUsable}
		if flags&event.Realloc != 0 {
			e.Func = event.ReallocFunc
		}
		e.Usable = e.Size + uint64(r.IntN(16))
		live = append(live, block{e, allocs})
		last[thread] = allocs
		allocs++
		return w.Event(&e)
	}
	for i := 0; i < events; i++ {
		now += 100 * int64(1+r.IntN(50))
		thread := uint32(r.IntN(3))
		switch i {
		case 10:
			w.Mark(event.Mark{Name: "warm", Time: now, Cut: w.Handed(), Thread: 1})
			w.Region(event.RegionNote{Name: "load", Time: now, Thread: thread, Event: w.Handed(),
				Alloc: w.Allocations(), Count: 1, IDs: [4]int64{7}})
		case 30:
			w.Range(event.NamedRange{Name: "table", Time: now, Thread: 1, Event: w.Handed(), Start: 4096, Size: 100})
		}
		var err error
		switch k := len(live); {
		case i%17 == 3:
			err = w.Event(&event.Event{Kind: event.Unmatched, Func: event.FreeFunc, Time: now, Thread: thread, Addr: 77,
				Ref: event.NoRef})
		case k > 5 && r.IntN(2) == 0:
			at := r.IntN(k)
			b := live[at]
			live = slices.Delete(live, at, at+1)
			e := event.Event{Kind: event.Free, Func: event.FreeFunc, Time: now, Thread: thread, Stack: b.e.Stack,
				Size: b.e.Size, Usable: b.e.Usable, Addr: b.e.Addr,
				Ref: b.ref, Born: b.e.Time, BornBy: b.e.Thread, Flags: event.HasUsable, FreeStack: uint32(1 +
					r.IntN(8))}
			half := r.IntN(5) == 0
			if half {
				e.Func, e.Flags = event.ReallocFunc, e.Flags|event.Realloc
			} else if last[thread] == b.ref {
				e.Flags |= event.Temporary
			}
			if err = w.Event(&e); half && err == nil {
				i++
				err = alloc(thread, event.Realloc)
			}
		default:
			err = alloc(thread, 0)
		}
		if err == nil && i%each == each-1 {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
	}
	if !finish {
		return errors.Join(w.Flush(), w.Abort())
	}
	return errors.Join(w.Symbols(frames),
		w.Variables([]event.Variable{{Module: 1, Kind: 1, Addr: 5000, Size: 64, Name: "=table", File: "x.c", Line: 4}},
			[]event.DataSection{{Module: 1, Kind: 1, Start: 4900, End: 6000, Variables: 1, Named: 64}}),
		w.Residency([]event.Residency{{Module: 1, Time: 20, PageSize: 4096,
			Looked: []event.AddrRange{{Start: 4096, End: 8192}}, Resident: []event.AddrRange{{Start: 4096,
				End: 8192}}}}),
		w.Counts(&event.Counts{Tick: 416_667, Rows: []event.Count{{TID: 100, Name: "a", Func: event.Malloc, Calls: 5,
			Bytes: 100, Usable: 120,
			Sizes: []event.Class{{Class: 3, Calls: 5}}}}}),
		w.Finish(recording.Ending{End: now + 1000, Exited: true, Code: 3, Status: "exit status 3",
			Health: event.Health{Waits: 2, Notes: []string{"n\x1b"}}}))
}

// deepRecording makes a small file with long call stacks: a recursion through so many nodes, which allocates at the
// last ones.
func deepRecording(path string, nodes, stacks uint32) error {
	w, err := recording.Create(path, event.Process{PID: 7, Exe: "/bin/a", Args: []string{"a"}, Started: 1e18},
		recording.Options{})
	if err != nil {
		return err
	}
	w.Thread(0, event.Thread{TID: 7, Name: "a"})
	w.Module(event.Module{ID: 1, Path: "/bin/a", Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	frames := make(map[uint32][]event.Frame)
	for i := range uint32(4) {
		w.PC(i+1, event.PC{Addr: 4096 + uint64(i), Module: 1})
		frames[i+1] = []event.Frame{{Function: fmt.Sprintf("f%d", i), File: "x.c", Line: 3 + i}}
	}
	for i := range nodes {
		w.Node(i+1, event.Node{Parent: i, PC: 1 + i%4})
	}
	for i := range stacks {
		if err := w.Event(&event.Event{Kind: event.Alloc, Func: event.Malloc, Time: 100 * int64(i+1), Stack: nodes - i,
			Size: uint64(1 + i%100),
			Addr: 0x10000 + 1024*uint64(i), Ref: event.NoRef}); err != nil {
			return err
		}
	}
	return errors.Join(w.Symbols(frames), w.Finish(recording.Ending{End: 1e9, Exited: true, Status: "exit status 0"}))
}

// tortureSpool makes a spool and its spill file.
func tortureSpool(t *testing.T, dir string) {
	t.Helper()
	a := spooltest.New(t, dir, "p", 4711)
	a.Patience = 0
	a.Publish()
	for i := range uint32(20) {
		a.Node(i/2, a.PC(0x1000+uint64(i), 1))
	}
	a.Module(wire.Module{Kind: wire.ModuleLoad, ID: 1, Start: 0x1000, End: 0x2000}, "id", "/lib/x.so")
	mark := a.Name("warm")
	a.Header.RecorderState = wire.RecorderNone
	for i := range uint64(2) {
		s := a.Stream(0, uint32(i), 0, "t")
		for k := range uint64(9000) { // some go to the spill file
			addr := 1<<20 + 4096*i + 16*(k/2%100)
			switch {
			case k%500 == 7:
				s.Event(nil, wire.Record{Kind: wire.KMark, Addr: uint64(mark)})
			case k%300 == 11:
				s.Event([]wire.Record{{Kind: wire.XID, Value: 7}},
					wire.Record{Kind: wire.KRegionBegin, Addr: uint64(mark)})
			case k%2 == 0:
				s.Event(nil, wire.Record{Kind: wire.KMalloc, Addr: addr, Size: uint32(k % 90), Stack: uint32(1 + k%19)})
			default:
				s.Event(nil, wire.Record{Kind: wire.KFree, Addr: addr})
			}
		}
		s.Leave()
	}
	a.Close()
}

// loadTorture reads the original files.
func loadTorture(dir string, seed uint64) (*tortureSet, error) {
	s := &tortureSet{dir: dir, seed: seed, good: make(map[string][]byte)}
	for _, name := range slices.Concat(tortureSmall, tortureOthers, tortureImports,
		[]string{"deep.htap", "p.spool", "p.spill"}) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		s.good[name] = b
	}
	for _, name := range tortureSmall {
		b := s.good[name]
		s.add("flipped "+name, len(b), 4, s.of(name, recordingCommands,
			func(i int, b []byte) []byte { b[i] ^= 1 << (i % 8); return b }))
		s.add("cut "+name, len(b), 4, s.of(name, recordingCommands, func(i int, b []byte) []byte { return b[:i] }))
	}
	s.add("deep", 1, 0, s.of("deep.htap", recordingCommands, func(_ int, b []byte) []byte { return b }))
	bases := slices.Concat(tortureSmall, tortureOthers)
	s.add("forged", 100_000, 20, func(i int) tortureInput {
		return s.of(bases[i%len(bases)], recordingCommands,
			func(_ int, b []byte) []byte { return forged(rand.New(rand.NewPCG(seed, uint64(i))), b) })(i)
	})
	s.add("spool", 5_000, 4, func(i int) tortureInput {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		files := map[string][]byte{"p.spool": bytes.Clone(s.good["p.spool"]), "p.spill": bytes.Clone(s.good["p.spill"])}
		scribble(r, files["p.spool"], files["p.spill"])
		for _, name := range []string{"p.spool", "p.spill"} {
			if r.IntN(4) == 0 {
				files[name] = files[name][:r.IntN(len(files[name]))]
			}
		}
		return tortureInput{files, "p.spool", filepath.Join(dir, "plain.htap"), otherCommands}
	})
	s.add("import", 10_000, 5, func(i int) tortureInput {
		return s.of(tortureImports[i%len(tortureImports)], importCommands, func(_ int, b []byte) []byte {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for range 1 + r.IntN(4) {
				const bytes = "0123456789-:,[]{}\"\n \xff"
				b[r.IntN(len(b))] = bytes[r.IntN(len(bytes))]
			}
			return b
		})(i)
	})
	return s, nil
}

// of makes inputs from one file.
func (s *tortureSet) of(name string, commands []string, change func(i int, b []byte) []byte) func(i int) tortureInput {
	return func(i int) tortureInput {
		return tortureInput{map[string][]byte{name: change(i, bytes.Clone(s.good[name]))}, name,
			filepath.Join(s.dir, "levels.htap"), commands}
	}
}

func (s *tortureSet) add(name string, many, brief int, input func(i int) tortureInput) {
	s.parts = append(s.parts, torturePart{name, many, brief, input})
}

// input returns the file with a number.
func (s *tortureSet) input(n int) tortureInput {
	_, p, i := s.find(n)
	return p.make(i)
}

func (s *tortureSet) find(n int) (name string, p *torturePart, i int) {
	for k := range s.parts {
		p = &s.parts[k]
		if n < p.many {
			return fmt.Sprintf("%s %d", p.name, n), p, n
		}
		n -= p.many
	}
	return "", p, 0
}

// all returns the numbers of all files. The parts alternate, so that a run that ends early has tried some of each. The
// seed says where to begin, so that runs with different seeds try different files.
func (s *tortureSet) all() []int {
	list := s.choose(func(p *torturePart) int { return p.many })
	begin := rand.New(rand.NewPCG(s.seed, 0)).IntN(len(list))
	return slices.Concat(list[begin:], list[:begin])
}

// some returns a few numbers of each part.
func (s *tortureSet) some() []int {
	return s.choose(func(p *torturePart) int { return min(p.many, p.brief) })
}

func (s *tortureSet) choose(many func(*torturePart) int) (list []int) {
	type place struct {
		share float64
		n     int
	}
	var places []place
	first := 0
	for k := range s.parts {
		p := &s.parts[k]
		n := many(p)
		for i := range n {
			places = append(places, place{float64(i) / float64(n), first + i*p.many/n})
		}
		first += p.many
	}
	slices.SortStableFunc(places, func(a, b place) int {
		switch {
		case a.share < b.share:
			return -1
		case a.share > b.share:
			return 1
		}
		return 0
	})
	for _, p := range places {
		list = append(list, p.n)
	}
	return list
}

// keep describes a file, and keeps a copy if -torture-keep is given.
func (s *tortureSet) keep(t *testing.T, n int) string {
	name, _, _ := s.find(n)
	text := fmt.Sprintf("file %d (%s), seed %d", n, name, s.seed)
	if *tortureKeep == "" {
		return text
	}
	dir := filepath.Join(*tortureKeep, fmt.Sprint(n))
	err := os.MkdirAll(dir, 0o755)
	for name, b := range s.input(n).files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	if err != nil {
		t.Error(err)
	}
	return text + ", kept in " + dir
}

// scribble changes numbers in a spool and its spill file, mostly those on which others depend.
func scribble(r *rand.Rand, main, spill []byte) {
	for range 1 + r.IntN(6) {
		f := main
		switch r.IntN(4) {
		case 0:
			f = spill
		case 1, 2:
			f = main[:wire.HeaderSize]
		}
		at := r.IntN(len(f)-8) &^ 3
		v := r.Uint64() >> r.IntN(64)
		if r.IntN(4) == 0 {
			v = -v
		}
		if r.IntN(2) == 0 {
			binary.LittleEndian.PutUint64(f[at:], v)
		} else {
			binary.LittleEndian.PutUint32(f[at:], uint32(v))
		}
	}
}

// The parts of the recording format (package recording) that forged files need, and how checksums are computed.
const (
	forgedHeader = 32
	forgedHead   = 24 // of a block
	typeEvents   = 6
	typeIndex    = 11
	typeSummary  = 12
)

type forgedBlock struct {
	typ     uint16
	payload []byte
}

type forgedColumn struct {
	id   byte
	data []byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// forged changes a recording and corrects all checksums, the numbers of blocks and the index.
func forged(r *rand.Rand, b []byte) []byte {
	blocks := parsedBlocks(b)
	if r.IntN(10) == 0 { // the order of blocks
		i, k := r.IntN(len(blocks)), r.IntN(len(blocks))
		switch r.IntN(3) {
		case 0:
			blocks[i], blocks[k] = blocks[k], blocks[i]
		case 1:
			blocks = slices.Delete(blocks, i, i+1)
		case 2:
			blocks = slices.Insert(blocks, i, blocks[k])
		}
	}
	for range 1 + r.IntN(3) {
		if len(blocks) == 0 {
			break
		}
		x := &blocks[r.IntN(len(blocks))]
		x.payload = bytes.Clone(x.payload)
		if len(x.payload) == 0 {
			continue
		}
		head, columns, ok := parsedColumns(x.payload)
		if !ok || r.IntN(8) == 0 {
			changeBytes(r, x.payload)
			continue
		}
		if r.IntN(4) == 0 || len(columns) == 0 {
			head = changeBytes(r, bytes.Clone(head))
		} else {
			c := &columns[r.IntN(len(columns))]
			c.data = changeBytes(r, bytes.Clone(c.data))
		}
		x.payload = joinedColumns(head, columns)
	}
	return joinedBlocks(b[:forgedHeader], blocks, r.IntN(2) == 0)
}

// changeBytes changes a few bytes. Many are varints: some become long ones.
func changeBytes(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			return b
		}
		at := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.IntN(256))
		case 2:
			b[at]++
		case 3:
			b[at]--
		case 4:
			b = slices.Replace(b, at, at+1, binary.AppendUvarint(nil, r.Uint64()>>r.IntN(64))...)
		case 5:
			b = slices.Insert(b, at, b[at:min(len(b), at+1+r.IntN(8))]...)
		}
	}
	return b
}

func parsedBlocks(b []byte) (list []forgedBlock) {
	for at := forgedHeader; at+forgedHead <= len(b); {
		n := int(binary.LittleEndian.Uint32(b[at+8:]))
		end := min(len(b), at+forgedHead+n)
		if typ := binary.LittleEndian.Uint16(b[at+4:]); typ != typeIndex {
			list = append(list, forgedBlock{typ, b[at+forgedHead : end]})
		}
		at = end
	}
	return list
}

var unzstd, _ = zstd.NewReader(nil)

func parsedColumns(p []byte) (head []byte, columns []forgedColumn, ok bool) {
	uvarint := func() int {
		v, n := binary.Uvarint(p)
		if n <= 0 || v > 1<<24 {
			p = nil
			return 0
		}
		p = p[n:]
		return int(v)
	}
	n := uvarint()
	if n > len(p) {
		return nil, nil, false
	}
	head, p = p[:n], p[n:]
	type entry struct {
		id, method byte
		size       int
	}
	var list []entry
	for range uvarint() {
		if len(p) < 2 {
			return nil, nil, false
		}
		e := entry{id: p[0], method: p[1]}
		p = p[2:]
		uvarint()
		e.size = uvarint()
		list = append(list, e)
	}
	for _, e := range list {
		if e.size > len(p) {
			return nil, nil, false
		}
		data := p[:e.size]
		if p = p[e.size:]; e.method == 1 {
			var err error
			if data, err = unzstd.DecodeAll(data, nil); err != nil {
				return nil, nil, false
			}
		}
		columns = append(columns, forgedColumn{e.id, data})
	}
	return head, columns, len(list) > 0
}

func joinedColumns(head []byte, columns []forgedColumn) []byte {
	out := append(binary.AppendUvarint(nil, uint64(len(head))), head...)
	columns = slices.DeleteFunc(columns, func(c forgedColumn) bool { return len(c.data) == 0 })
	out = binary.AppendUvarint(out, uint64(len(columns)))
	for _, c := range columns {
		out = append(out, c.id, 0)
		out = binary.AppendUvarint(out, uint64(len(c.data)))
		out = binary.AppendUvarint(out, uint64(len(c.data)))
	}
	for _, c := range columns {
		out = append(out, c.data...)
	}
	return out
}

func joinedBlocks(header []byte, blocks []forgedBlock, index bool) []byte {
	out := bytes.Clone(header)
	add := func(seq int, typ uint16, payload []byte) uint32 {
		var h [forgedHead]byte
		copy(h[:], "HBLK")
		binary.LittleEndian.PutUint16(h[4:], typ)
		binary.LittleEndian.PutUint32(h[8:], uint32(len(payload)))
		binary.LittleEndian.PutUint32(h[12:], uint32(seq))
		sum := crc32.Checksum(payload, castagnoli)
		binary.LittleEndian.PutUint32(h[16:], sum)
		binary.LittleEndian.PutUint32(h[20:], crc32.Checksum(h[:20], castagnoli))
		out = append(append(out, h[:]...), payload...)
		return sum
	}
	var types, sizes, sums, heads, above []byte
	for i, x := range blocks {
		sum := add(i, x.typ, x.payload)
		types = binary.AppendUvarint(types, uint64(x.typ))
		sizes = binary.AppendUvarint(sizes, uint64(len(x.payload)))
		sums = binary.LittleEndian.AppendUint32(sums, sum)
		if n, k := binary.Uvarint(x.payload); k > 0 && n <= uint64(len(x.payload)-k) {
			switch x.typ {
			case typeEvents:
				heads = append(heads, x.payload[k:k+int(n)]...)
			case typeSummary:
				above = append(above, x.payload[k:k+int(n)]...)
			}
		}
	}
	if index {
		at := uint64(len(out))
		p := joinedColumns(binary.AppendUvarint(nil, uint64(len(blocks))),
			[]forgedColumn{{1, types}, {2, sizes}, {3, sums}, {4, heads}, {5, above}})
		p = binary.LittleEndian.AppendUint64(p, at)
		add(len(blocks), typeIndex, append(p, "HTAPEND\n"...))
	}
	return out
}

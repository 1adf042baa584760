// Package count builds and reads the independent judge: a preloaded C library (src/count.c) that counts what goes
// through the allocation functions and shares no code with heaptap. Chained behind the agent in the same run, it must
// have seen the very same events.
package count

import (
	_ "embed" // the library's source
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

//go:embed src/count.c
var source []byte

// Totals is what one process did from its start (or its fork, or its exec) on.
type Totals struct {
	PID, PPID      uint64
	Image          int    // 1 for the first image of the pid, 2 after an exec, ...
	Forked         bool   // a fork's child, which has not exec'd since it has made this
	Exe            string // its executable
	Args           []string
	Allocations    uint64
	Deallocations  uint64 // of blocks that it had seen being allocated
	Bytes          uint64
	Failed         uint64
	Reallocations  uint64
	Unmatched      uint64 // deallocations of blocks that it had not seen; in a forked child they are inherited ones
	LeakedBytes    uint64
	LeakedBlocks   uint64
	PeakBytes      uint64
	PeakBlocks     uint64
	Temporary      uint64
	Overlaps       uint64 // allocations at a live address: always 0, or a deallocation bypassed the library
	Boot           uint64 // blocks that the library itself served; not counted
	Calls          map[string]uint64
	File           string
	EventsRecorded uint64 // allocations, deallocations, failures: what there was to record
}

// functions names the entries of the file's table of calls, in the order of enum function.
var functions = []string{"malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign",
	"valloc", "pvalloc", "free"}

const (
	magic     = 0x31544e554f435448
	fileSize  = 4096
	exeAt     = 512
	cmdlineAt = 1024
	callsAt   = 32
)

// Build compiles the library into dir and returns its path.
func Build(dir string) (string, error) {
	src, out := filepath.Join(dir, "count.c"), filepath.Join(dir, "count.so")
	if err := os.WriteFile(src, source, 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11", "-fPIC", "-shared", "-fexceptions",
		"-fno-builtin", "-fvisibility=hidden", "-o", out, src, "-ldl")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc cannot build the counting library: %w\n%s", err, b)
	}
	return out, nil
}

// Read returns what the processes of a run with COUNT_DIR=dir have counted, by pid and image.
func Read(dir string) ([]Totals, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.count"))
	if err != nil {
		return nil, err
	}
	var all []Totals
	for _, name := range names {
		t, err := readFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].PID != all[j].PID {
			return all[i].PID < all[j].PID
		}
		return all[i].Image < all[j].Image
	})
	return all, nil
}

func readFile(name string) (Totals, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return Totals{}, err
	}
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if len(b) != fileSize || u(0) != magic {
		return Totals{}, fmt.Errorf("%s: not a whole file of the counting library", name)
	}
	parts := strings.Split(filepath.Base(name), ".")
	if len(parts) != 3 {
		return Totals{}, errors.New(name + ": its name is not PID.N.count")
	}
	image, err := strconv.Atoi(parts[1])
	if err != nil {
		return Totals{}, fmt.Errorf("%s: %w", name, err)
	}
	t := Totals{
		PID: u(1), PPID: u(2), Image: image, Forked: u(3) != 0,
		Allocations: u(4), Deallocations: u(5), Bytes: u(6), Failed: u(7), Reallocations: u(8), Unmatched: u(9),
		LeakedBytes: u(10), LeakedBlocks: u(11), PeakBytes: u(12), PeakBlocks: u(13), Temporary: u(14),
		Overlaps: u(15), Boot: u(16), Calls: map[string]uint64{}, File: name,
		Exe: text(b[exeAt:cmdlineAt]),
	}
	for i, f := range functions {
		if n := u(callsAt + i); n != 0 {
			t.Calls[f] = n
		}
	}
	if c := strings.TrimRight(string(b[cmdlineAt:]), "\x00"); c != "" {
		t.Args = strings.Split(c, "\x00")
	}
	t.EventsRecorded = t.Allocations + t.Deallocations + t.Failed + t.Unmatched
	return t, nil
}

func text(b []byte) string {
	if i := strings.IndexByte(string(b), 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

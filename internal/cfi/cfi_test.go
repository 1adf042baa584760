package cfi

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/need"
)

// asm writes a section.
type asm struct{ b []byte }

func (a *asm) u8(v ...byte) *asm { a.b = append(a.b, v...); return a }

func (a *asm) u32(v uint32) *asm { a.b = binary.LittleEndian.AppendUint32(a.b, v); return a }

// cie appends a common entry for code at 4-byte addresses, as gcc and clang write it, and returns where it begins.
func (a *asm) cie(program ...byte) (at int) {
	at = len(a.b)
	var c asm
	c.u32(0).u8(1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03).u8(program...)
	a.u32(uint32(len(c.b))).u8(c.b...)
	return at
}

func (a *asm) fde(cie int, start, size uint32, program ...byte) *asm {
	back := uint32(len(a.b) + 4 - cie)
	return a.u32(uint32(13 + len(program))).u32(back).u32(start).u32(size).u8(0).u8(program...)
}

// usual is what a call leaves behind: the return address, at the CFA less 8.
var usual = []byte{opDefCFA, 7, 8, opOffset<<6 | 16, 1}

func TestRules(t *testing.T) {
	var a asm
	c := a.cie(usual...)
	a.fde(c, 0x1000, 0x40,
		opAdvance<<6|1, opDefCFAOffset, 16, // push
		opAdvance<<6|4, opDefCFAOffset, 0x80, 8, // sub
		opAdvance1, 0x10, opRememberState, opDefCFAOffset, 8,
		opAdvance<<6|1, opRestoreState,
		opAdvance2, 4, 0, opDefCFARegister, 6, opAdvance4, 4, 0, 0, 0, opDefCFAExpression, 2, 0x77, 0)
	a.fde(c, 0x2000, 0x10, opUndefined, 16)
	a.u32(0)
	a.fde(c, 0x3000, 0x10) // after the terminator
	known := func(register uint64, offset int64) Rule { return Rule{Known: true, Register: register, Offset: offset} }
	want := map[uint64]Rule{
		0xfff: {}, 0x1000: known(7, 8), 0x1001: known(7, 16), 0x1004: known(7, 16), 0x1005: known(7, 1024),
		0x1014: known(7, 1024), 0x1015: known(7, 8), 0x1016: known(7, 1024), 0x1019: known(7, 1024),
		0x101a: known(6, 1024), 0x101e: {Known: true, Expression: true}, 0x103f: {Known: true, Expression: true},
		0x1040: {}, 0x2004: {Known: true, Register: 7, Offset: 8, Outermost: true}, 0x3000: {},
	}
	var addrs []uint64
	for at := range want {
		addrs = append(addrs, at)
	}
	slices.Sort(addrs)
	rules, err := Find(Section{Data: a.b}, addrs)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range addrs {
		if rules[i] != want[at] {
			t.Errorf("%#x: %+v, want %+v", at, rules[i], want[at])
		}
	}
}

func TestForged(t *testing.T) {
	for name, c := range map[string]struct {
		build func(a *asm)
		want  string
	}{
		"length":    {func(a *asm) { a.u32(100) }, "truncated"},
		"no common": {func(a *asm) { a.fde(1000, 0, 0x1000, 0x10) }, "no common entry"},
		"not common": {func(a *asm) {
			c := a.cie(usual...)
			a.fde(c, 1, 1)
			a.fde(len(a.b)-17, 0x1000, 1)
		}, "is not one"},
		"version":      {func(a *asm) { c := a.cie(); a.b[c+8] = 9; a.fde(c, 0x1000, 1) }, "unknown version 9"},
		"augmentation": {func(a *asm) { c := a.cie(); a.b[c+9] = 'x'; a.fde(c, 0x1000, 1) }, "unknown augmentation"},
		"endless": {func(a *asm) {
			c := a.cie(slices.Repeat([]byte{1}, 99)...)
			a.b[c+11] = 1
			a.fde(c, 0x1000, 1)
		}, "does not end"},
		"indirect":    {func(a *asm) { c := a.cie(); a.b[c+16] = 0x83; a.fde(c, 0x1000, 1) }, "pointers to addresses"},
		"relative":    {func(a *asm) { c := a.cie(); a.b[c+16] = 0x33; a.fde(c, 0x1000, 1) }, "truncated"},
		"instruction": {func(a *asm) { a.fde(a.cie(usual...), 0x1000, 1, 0x3f) }, "the instruction at"},
		"back":        {func(a *asm) { a.fde(a.cie(usual...), 0x1000, 1, opSetLoc, 1, 0, 0, 0) }, "goes back"},
		"state":       {func(a *asm) { a.fde(a.cie(usual...), 0x1000, 1, opRestoreState) }, "the instruction at"},
		"states": {func(a *asm) {
			a.fde(a.cie(usual...), 0x1000, 1, slices.Repeat([]byte{opRememberState}, maxRemembered+1)...)
		}, "the instruction at"},
		"operand": {func(a *asm) { a.fde(a.cie(usual...), 0x1000, 1, opDefCFAOffset, 0x80) }, "the instruction at"},
	} {
		var a asm
		c.build(&a)
		rules, err := Find(Section{Data: a.b}, []uint64{0x1000})
		if err == nil || !strings.Contains(err.Error(), c.want) || rules[0].Known {
			t.Errorf("%s: %+v, %v; want an error with %q", name, rules[0], err, c.want)
		}
	}
	// The invalid rules of one function cost only these.
	var a asm
	c := a.cie(usual...)
	a.fde(c, 0x1000, 1, 0x3f).fde(c, 0x2000, 1)
	rules, err := Find(Section{Data: a.b}, []uint64{0x1000, 0x2000})
	if err == nil || rules[0].Known || !rules[1].Known {
		t.Errorf("%+v, %v", rules, err)
	}
}

// Sections that take long for their size.
func TestBounded(t *testing.T) {
	var addrs []uint64
	for i := range uint64(100000) {
		addrs = append(addrs, 0x1000+i)
	}
	var same, long asm
	c := same.cie(usual...)
	for range 100000 {
		same.fde(c, 0x1000, 100000)
	}
	c = long.cie(slices.Repeat([]byte{opNop}, 1<<20)...)
	for i := range uint32(1000) {
		long.fde(c, 0x1000+i, 1)
	}
	for name, data := range map[string][]byte{"same addresses": same.b, "long common entry": long.b} {
		start := time.Now()
		_, err := Find(Section{Data: data}, addrs)
		took := time.Since(start)
		t.Logf("%s: %v, %v", name, took, err)
		if took > 30*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
	if _, err := Find(Section{Data: long.b}, addrs); err != errTooLong {
		t.Errorf("long: %v", err)
	}
}

// Every row that readelf prints of the compiler's libraries.
func TestLikeReadelf(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"readelf", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			need.Lacks(t, tool+" is not installed")
		}
	}
	rows, outermost, others := 0, 0, 0
	for _, name := range []string{"libc.so.6", "libstdc++.so.6", "libgcc_s.so.1", "crt1.o"} {
		out, err := exec.Command("gcc", "-print-file-name="+name).Output()
		path := strings.TrimSpace(string(out))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		section := f.Section(".eh_frame")
		if f.Machine != elf.EM_X86_64 || section == nil || f.Type != elf.ET_DYN {
			continue
		}
		data, err := section.Data()
		if err != nil {
			t.Fatal(err)
		}
		table := readelf(t, path)
		var addrs []uint64
		for _, row := range table {
			addrs = append(addrs, row.addr)
		}
		rules, err := Find(Section{data, section.Addr}, addrs)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for i, row := range table {
			if got := text(rules[i]); got != row.text {
				t.Fatalf("%s: %#x: %s, want %s", path, row.addr, got, row.text)
			}
			rows++
			if rules[i].Outermost {
				outermost++
			}
			if rules[i].Expression {
				others++
			}
		}
	}
	if rows < 10000 || outermost == 0 || others == 0 {
		t.Errorf("only %d rows, %d without a caller, %d with expressions", rows, outermost, others)
	}
	t.Logf("%d rows, %d without a caller, %d with expressions", rows, outermost, others)
}

type line struct {
	addr uint64
	text string
}

// readelf returns the rows that readelf prints, by address.
func readelf(t *testing.T, path string) (list []line) {
	cmd := exec.Command("readelf", "--debug-dump=frames-interp", path)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, _ := cmd.Output() // it fails, after it has printed everything, if it misses a separate debug file
	column := -1           // of the return address; the rows of functions follow a line that names the columns
	function := false
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		fields := slices.DeleteFunc(strings.Fields(s.Text()), func(f string) bool { return f[0] == '(' }) // "r1 (rdx)"
		switch {
		case strings.Contains(s.Text(), " FDE "):
			function = true
		case strings.Contains(s.Text(), " CIE "):
			function = false
		case len(fields) > 1 && fields[0] == "LOC":
			column = slices.Index(fields, "ra")
		case function && len(fields) > 1 && len(fields[0]) == 16:
			addr, err := strconv.ParseUint(fields[0], 16, 64)
			if err != nil {
				continue
			}
			text := fields[1]
			if column > 0 && column < len(fields) && fields[column] == "u" {
				text += " outermost"
			}
			if n := len(list); n > 0 && list[n-1].addr == addr {
				n-- // the last of several rows counts
				list = list[:n]
			}
			list = append(list, line{addr, text})
		}
	}
	slices.SortStableFunc(list, func(a, b line) int { return int(int64(a.addr - b.addr)) })
	return list
}

func text(r Rule) string {
	names := []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
		"r14", "r15", "rip"}
	text := "none"
	switch {
	case r.Expression:
		text = "exp"
	case r.Known && r.Register < uint64(len(names)):
		text = fmt.Sprintf("%s%+d", names[r.Register], r.Offset)
	}
	if r.Outermost {
		text += " outermost"
	}
	return text
}

// FuzzFind takes any bytes as a section. What is found for one address must not depend on what else is asked.
func FuzzFind(f *testing.F) {
	var a asm
	c := a.cie(usual...)
	a.fde(c, 0x1000, 0x20, opAdvance<<6|1, opDefCFAOffset, 16, opAdvance<<6|4, opRememberState, opDefCFA, 6, 16,
		opAdvance<<6|8, opRestoreState)
	a.fde(c, 0x1020, 8, opDefCFAExpression, 2, 0x77, 0)
	f.Add(a.b, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr uint64) {
		s := Section{data, addr}
		addrs := []uint64{0, 0x1000, 0x1001, 0x1005, 0x100d, 0x1020, 0x1021, 0x2000, ^uint64(0)}
		all, err := Find(s, addrs)
		for i, at := range addrs {
			one, alone := Find(s, []uint64{at})
			if err == nil && alone == nil && one[0] != all[i] {
				t.Errorf("%#x: %+v, alone %+v", at, all[i], one[0])
			}
		}
	})
}

package elfx

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	hello     = "int main(void) { return 0; }\n"
	ownMalloc = `#include <stddef.h>
static char pool[1 << 16];
static size_t used;
void *malloc(size_t n) {
	size_t at = used;
	used += (n + 15) & ~(size_t)15;
	return used <= sizeof(pool) ? pool + at : NULL;
}
void free(void *p) { (void)p; }
int main(void) { return malloc(1) == NULL; }
`
	// An executable at a fixed address that takes malloc's address has a .dynsym entry with a value, but no definition.
	takesAddress = "#include <stdlib.h>\nvoid *(*p)(size_t) = malloc;\nint main(void) { return p == 0; }\n"
)

func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	c, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if b, err := exec.Command("gcc", append(flags, "-w", "-o", out, c)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q: %v\n%s", flags, err, b)
	}
	return out
}

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, flags string
		static, pie, interp bool
		malloc              Malloc
	}{
		{"pie", hello, "-pie -fpie", false, true, true, MallocNone},
		{"no-pie", hello, "-no-pie -fno-pie", false, false, true, MallocNone},
		{"static", hello, "-static", true, false, false, MallocLocal},
		{"static stripped", hello, "-static -s", true, false, false, MallocNone},
		{"static-pie", hello, "-static-pie -fpie", true, true, false, MallocLocal},
		{"own malloc, exported", ownMalloc, "-fno-builtin", false, true, true, MallocDynamic},
		{"own malloc, local", ownMalloc, "-fno-builtin -fvisibility=hidden", false, true, true, MallocLocal},
		{"takes malloc's address", takesAddress, "-no-pie -fno-pie", false, false, true, MallocNone},
		{"library", hello, "-shared -fpic -Wl,-soname,libx.so", false, false, false, MallocNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := compile(t, c.source, append(strings.Fields(c.flags), "-Wl,--build-id=0x0102030405")...)
			info, err := Inspect(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Static != c.static || info.PIE != c.pie || (info.Interp != "") != c.interp ||
				info.Malloc != c.malloc {
				t.Errorf("got %+v", info)
			}
			if info.Class != 64 || info.Machine == elf.EM_NONE || info.Script != "" ||
				fmt.Sprintf("%x", info.BuildID) != "0102030405" {
				t.Errorf("got %+v", info)
			}
			if info.DefinesMalloc() != (c.malloc != MallocNone) {
				t.Error("DefinesMalloc and Malloc differ")
			}
		})
	}
}

// The dynamic loader can be run as a command, and then loads preloaded libraries.
func TestAllocator(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, flags, name string
		exports             []string
	}{
		{hello, "", "", nil},
		{ownMalloc, "-fno-builtin", "", []string{"malloc"}},
		{ownMalloc + `const char *text = "<jemalloc>: out of memory";`, "-fno-builtin", "jemalloc", []string{"malloc"}},
		{ownMalloc + `const char *text = "<jemalloc>, tcmalloc or PartitionAlloc";`, "-fvisibility=hidden -fno-builtin",
			"PartitionAlloc", nil},
	} {
		f, err := Open(compile(t, c.source, append(strings.Fields(c.flags), "-rdynamic")...))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		name, exports := f.Allocator()
		if name != c.name || len(exports) < len(c.exports) ||
			(len(c.exports) > 0) != slices.Contains(exports, "malloc") {
			t.Errorf("%s: got %q %q", c.flags, name, exports)
		}
	}
}

func TestInspectLoader(t *testing.T) {
	t.Parallel()
	info, err := Inspect(compile(t, hello))
	if err != nil {
		t.Fatal(err)
	}
	loader, err := Inspect(info.Interp)
	if err != nil || loader.Static || loader.Script != "" {
		t.Errorf("%s: %+v, %v", info.Interp, loader, err)
	}
}

func TestInspectOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ content, script, arg string }{
		{"#!/bin/sh\necho\n", "/bin/sh", ""},
		{"#! /usr/bin/env -S python3 -u\n", "/usr/bin/env", "-S python3 -u"},
		{"#!/bin/sh", "/bin/sh", ""},
	} {
		info, err := Inspect(write("script", c.content))
		if err != nil || info.Script != c.script || info.ScriptArg != c.arg {
			t.Errorf("%q: %+v, %v", c.content, info, err)
		}
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"empty": write("empty", ""), "text": write("text", "this is a text of more than sixteen bytes\n"),
		"bare #!": write("bare", "#!\nmore than sixteen bytes"), "directory": dir, "fifo": fifo,
	} {
		if info, err := Inspect(path); !errors.Is(err, ErrNotELF) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	if _, err := Inspect(filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Inspect(write("short", "\x7fELF\x02\x01\x01............")); err == nil ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("truncated header: %v", err)
	}
}

// A 32-bit executable, made by hand, since compilers for it are rarely installed.
func TestInspect32(t *testing.T) {
	t.Parallel()
	b := make([]byte, 52+32+16)
	copy(b, "\x7fELF\x01\x01\x01")
	o := binary.LittleEndian
	o.PutUint16(b[16:], uint16(elf.ET_EXEC))
	o.PutUint16(b[18:], uint16(elf.EM_386))
	o.PutUint32(b[20:], 1)
	o.PutUint32(b[28:], 52) // program headers
	o.PutUint16(b[40:], 52)
	o.PutUint16(b[42:], 32)
	o.PutUint16(b[44:], 1)
	o.PutUint16(b[46:], 40)
	p := b[52:]
	o.PutUint32(p, uint32(elf.PT_INTERP))
	o.PutUint32(p[4:], 84)
	o.PutUint32(p[16:], 11)
	copy(b[84:], "/lib/ld.so\x00")
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := Inspect(path)
	if err != nil || info.Class != 32 || info.Machine != elf.EM_386 || info.Static || info.Interp != "/lib/ld.so" ||
		info.PIE {
		t.Errorf("%+v, %v", info, err)
	}
}

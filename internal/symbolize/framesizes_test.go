package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// TestFrameSizes compares the sizes with what the program has measured itself.
func TestFrameSizes(t *testing.T) {
	t.Parallel()
	for flags, unknown := range map[string]string{
		"-O2 -fomit-frame-pointer": "dynamic", "-O1 -no-pie": "dynamic", "-O2 -s": "dynamic",
		"-O2 -fno-omit-frame-pointer": "empty small large dynamic",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			path := build(t, "framesizes.c", "framesizes", "gcc", append(strings.Fields(flags), "-Wl,--build-id")...)
			m := event.Module{ID: 1, Path: path, BuildID: openID(t, path), Bias: 0x7000000}
			start := uint64(0)
			if strings.Contains(flags, "-no-pie") {
				start = 0x400000
			}
			var names []string
			var own []uint64
			var pcs []event.PC
			for _, line := range strings.Split(strings.TrimSpace(run(t, path)), "\n") {
				var name string
				var at, size uint64
				if _, err := fmt.Sscanf(line, "%s %x %d", &name, &at, &size); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				names, own = append(names, name), append(own, size)
				pcs = append(pcs, event.PC{Addr: m.Bias + start + at, Module: 1})
			}
			if len(names) != 4 {
				t.Fatalf("%q", names)
			}
			sizes, notes := New(Options{}).FrameSizes(t.Context(), []event.Module{m}, pcs)
			if len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
			for i, name := range names {
				want := own[i]
				if strings.Contains(unknown, name) {
					want = 0
				}
				if sizes[i] != want {
					t.Errorf("%s: %d bytes, want %d (it took %d)", name, sizes[i], want, own[i])
				}
			}
		})
	}
}

// What is not known is not said, but why.
func TestNoFrameSizes(t *testing.T) {
	t.Parallel()
	path := build(t, "framesizes.c", "framesizes", "gcc", "-O2", "-Wl,--build-id")
	id := openID(t, path)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("this is not a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	bare := copyOf(t, path, filepath.Join(t.TempDir(), "bare"))
	run(t, "objcopy", "--remove-section=.eh_frame", bare)
	for _, c := range []struct {
		m    event.Module
		note string
	}{
		{event.Module{ID: 1, Path: "/nowhere/x.so", BuildID: id}, "/nowhere/x.so: no frame sizes: no such file"},
		{event.Module{ID: 1, Path: text, BuildID: id}, text + ": no frame sizes: not an ELF file"},
		{event.Module{ID: 1, Path: path, BuildID: []byte("other")}, "the file has been replaced since it was loaded"},
		{event.Module{ID: 1, Path: path}, "it has no build id"},
		{event.Module{ID: 1, Path: bare, BuildID: id}, "the file has no call frame information"},
		{event.Module{ID: 1, Path: "[vdso]", BuildID: []byte("other")},
			"[vdso]: no frame sizes: this kernel has another one"},
		{event.Module{}, "code outside of any file: no frame sizes: its call frame information was not recorded"},
	} {
		sizes, notes := New(Options{}).FrameSizes(t.Context(), []event.Module{c.m},
			[]event.PC{{Addr: 0x1200, Module: c.m.ID}})
		if sizes[0] != 0 || len(notes) != 1 || !strings.Contains(notes[0], c.note) {
			t.Errorf("%d, %q; want a note with %q", sizes[0], notes, c.note)
		}
	}
}

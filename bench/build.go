package main

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

//go:embed src
var sources embed.FS

// bench holds what all measurements share: a folder, and the programs and libraries in it.
type bench struct {
	dir, heaptap, shim, backtrace, sketch, cpu, monitor, tsc string // sketch is "" where it cannot be built
}

// build compiles the shims, the sketch, the measuring program and, if no binary is given, heaptap.
func build(dir, heaptap string) (*bench, error) {
	b := &bench{dir: dir, shim: filepath.Join(dir, "shim.so"), backtrace: filepath.Join(dir, "backtrace.so"),
		cpu: filepath.Join(dir, "cpu"), monitor: filepath.Join(dir, "monitor.so"),
		tsc: filepath.Join(dir, "tsc"), sketch: filepath.Join(dir, "sketch.so")}
	headers, err := programs.Headers()
	if err != nil {
		return nil, err
	}
	if b.heaptap, err = programs.BuildHeaptap(dir, heaptap); err != nil {
		return nil, err
	}
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		src, out string
		flags    []string
	}{
		{"shim.c", b.shim, []string{"-shared"}},
		{"shim.c", b.backtrace, []string{"-shared", "-DBACKTRACE"}},
		{"sketch.c", b.sketch, []string{"-shared"}},
		{"cpu.c", b.cpu, []string{"-pie"}},
		{"tsc.c", b.tsc, []string{"-pie"}},
		{"monitor.c", b.monitor, []string{"-shared", "-I", headers}},
	} {
		path := filepath.Join(dir, "src", c.src)
		args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-o", c.out, path, "-ldl"}, c.flags...)
		out, err := exec.Command("gcc", args...).CombinedOutput()
		switch {
		case c.out == b.sketch && bytes.Contains(out, []byte("the sketch needs glibc")):
			b.sketch = ""
		case err != nil:
			return nil, fmt.Errorf("gcc %s: %w\n%s", c.src, err, out)
		}
	}
	return b, nil
}

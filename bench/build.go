package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/programs"
)

//go:embed src/shim.c src/cpu.c src/monitor.c src/wide.py
var sources embed.FS

// bench holds what all measurements share: a folder, and the programs and libraries in it.
type bench struct {
	dir, heaptap, shim, backtrace, cpu, monitor string
}

// build compiles the shims, the measuring program and, if no binary is given, heaptap.
func build(dir, heaptap string) (*bench, error) {
	b := &bench{dir: dir, shim: filepath.Join(dir, "shim.so"), backtrace: filepath.Join(dir, "backtrace.so"),
		cpu: filepath.Join(dir, "cpu"), monitor: filepath.Join(dir, "monitor.so")}
	headers, err := programs.Headers()
	if err != nil {
		return nil, err
	}
	if b.heaptap, err = programs.BuildHeaptap(dir, heaptap); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		src, out string
		flags    []string
	}{
		{"shim.c", b.shim, []string{"-shared"}},
		{"shim.c", b.backtrace, []string{"-shared", "-DBACKTRACE"}},
		{"cpu.c", b.cpu, []string{"-pie"}},
		{"monitor.c", b.monitor, []string{"-shared", "-I", headers}},
	} {
		text, err := sources.ReadFile("src/" + c.src)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, c.src)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return nil, err
		}
		args := append([]string{"-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-o", c.out, path, "-ldl"}, c.flags...)
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("gcc %s: %w\n%s", c.src, err, out)
		}
	}
	return b, nil
}

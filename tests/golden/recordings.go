package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// compareAnswers has both builds answer everything about the same recordings.
func (s *session) compareAnswers() error {
	if err := s.compile(); err != nil {
		return err
	}
	dir := s.path("recordings")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	begin := time.Now()
	for _, p := range s.programs {
		if _, err := s.record(s.before, p, dir); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := s.derive(dir); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "recording: %d programs, %v\n", len(s.programs), time.Since(begin).Round(time.Second))
	formats, err := s.formats()
	if err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var calls []call
	for _, f := range files {
		for _, line := range s.commands {
			for _, format := range formats {
				if c, ok := parse(line, f.Name(), files[0].Name(), format); ok {
					calls = append(calls, c)
				}
				if !strings.Contains(line, "FORMAT") {
					break
				}
			}
		}
	}
	return s.compareAll("recordings", dir, calls)
}

// derive makes more recordings of those that there are: merged, damaged, cut short; and takes an old version's.
func (s *session) derive(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.htap"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("nothing was recorded: %w", err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		return err
	}
	for name, write := range map[string]func() []byte{
		"cut.htap":     func() []byte { return b[:len(b)*2/3] },
		"damaged.htap": func() []byte { d := slices.Clone(b); d[len(d)/2] ^= 1; return d },
	} {
		if err := os.WriteFile(filepath.Join(dir, name), write(), 0o644); err != nil {
			return err
		}
	}
	old, err := os.ReadFile(filepath.Join(s.root, "internal/recording/testdata/1.0.htap"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "old.htap"), old, 0o644)
	}
	if err != nil {
		return err
	}
	_, err = s.before.must(dir, append([]string{"merge", "-o", "merged.htap"}, names[:min(3, len(names))]...)...)
	return err
}

// compareSpools has both builds read what the agent writes without a recorder. Each reading takes the clock's rate
// anew: times differ.
func (s *session) compareSpools() error {
	p := s.programs[0]
	library, dir := s.path("libheaptap.so"), s.path("spool")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := s.before.must(dir, "agent", "-o", library); err != nil {
		return err
	}
	if _, err := execute(dir, append(s.before.environment(), "LD_PRELOAD="+library), s.command(p)); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(dir, p.name+"*.spool"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("the agent wrote no spool: %w", err)
	}
	var outputs [2]output
	for i, b := range []build{s.before, s.after} {
		if outputs[i], err = b.stable(p, found); err != nil {
			return err
		}
	}
	s.note("spool", outputs[0], outputs[1])
	return nil
}

// must runs a command that has to succeed and returns its stdout.
func (b build) must(dir string, args ...string) ([]byte, error) {
	out, err := execute(dir, b.environment(), append([]string{b.path}, args...))
	if err == nil && string(out["status"]) != "exit status 0\n" {
		err = fmt.Errorf("heaptap %s: %s%s", strings.Join(args, " "), out["status"], out["stderr"])
	}
	return out["stdout"], err
}

// formats lists the formats of export with their variants.
func (s *session) formats() ([]string, error) {
	text, err := s.before.must(s.dir, "export", "--list", "--json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Formats []struct {
			Name     string
			Variants []struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("export --list --json: %w", err)
	}
	var names []string
	for _, f := range list.Formats {
		names = append(names, f.Name)
		for _, v := range f.Variants[min(1, len(f.Variants)):] {
			names = append(names, f.Name+":"+v.Name)
		}
	}
	return names, nil
}

// compareImports has both builds import files of other tools, and what was exported.
func (s *session) compareImports() error {
	dir := s.path("recordings")
	files, err := filepath.Glob(filepath.Join(s.root, "internal/import/testdata/*"))
	if err != nil {
		return err
	}
	importable := []string{
		"pprof", "folded", "folded:mallocprofiler", "speedscope", "massif", "dhat", "heaptrack", "heaptrack:plain",
	}
	for _, format := range importable {
		name := filepath.Join(s.dir, "exported."+strings.ReplaceAll(format, ":", "."))
		if _, err := s.before.must(dir, "export", "-f", format, "-o", name, s.programs[0].name+".htap"); err != nil {
			return err
		}
		files = append(files, name)
	}
	var calls []call
	for _, f := range files {
		calls = append(calls, call{args: []string{"import", "-o", "out", f}})
	}
	return s.compareAll("imports", dir, calls)
}

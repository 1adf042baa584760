package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

const limit = 2 * time.Minute // of one command

// output is all that comes of a command: its parts by name (stdout, stderr, status, and the files that it wrote).
type output map[string][]byte

// call is a command line of heaptap.
type call struct {
	env  []string
	args []string
}

func (c call) String() string { return strings.Join(append(slices.Clone(c.env), c.args...), " ") }

// compareAll has both builds run every call and notes differences. name goes before the commands in the report.
//
// Each worker has a folder, in which both builds run one after the other, so that paths are the same: rec leads to the
// recordings, and out is to be written. What is there afterwards is part of the output.
func (s *session) compareAll(name, recordings string, calls []call) error {
	work := make(chan call)
	var all sync.WaitGroup
	var failed error
	var fail sync.Once
	for n := range s.jobs {
		dir := filepath.Join(s.dir, fmt.Sprintf("worker-%d", n))
		all.Go(func() {
			for c := range work {
				if err := s.compare(name, dir, recordings, c); err != nil {
					fail.Do(func() { failed = err })
				}
			}
		})
	}
	begin := time.Now()
	for _, c := range calls {
		work <- c
	}
	close(work)
	all.Wait()
	fmt.Fprintf(os.Stderr, "%s: %d commands, %v\n", name, len(calls), time.Since(begin).Round(time.Second))
	return failed
}

func (s *session) compare(name, dir, recordings string, c call) error {
	var outputs [2]output
	for i, b := range []build{s.before, s.after} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := os.Symlink(recordings, filepath.Join(dir, "rec")); err != nil {
			return err
		}
		var err error
		if outputs[i], err = b.run(dir, c); err != nil {
			return err
		}
	}
	s.note(name+": heaptap "+c.String(), outputs[0], outputs[1])
	return nil
}

// run runs a call in a folder, with an environment that is always the same.
func (b build) run(dir string, c call) (output, error) {
	out, err := execute(dir, append(b.environment(), c.env...), append([]string{b.path}, c.args...))
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		out["file "+strings.TrimPrefix(path, dir+"/")] = text
		return err
	})
	return out, err
}

func (b build) environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "XDG_CACHE_HOME=" + b.cache,
		"TZ=UTC", "LC_ALL=C", "TERM=dumb", "NO_COLOR=1", "COLUMNS=100"}
}

func execute(dir string, env, args []string) (output, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	status := cmd.ProcessState.String() + "\n"
	if ctx.Err() != nil {
		status = fmt.Sprintf("did not end within %v\n", limit)
	}
	return output{"stdout": stdout.Bytes(), "stderr": stderr.Bytes(), "status": []byte(status)}, nil
}

// report collects differences. Those whose changed lines are alike are one, with all its places.
type report struct {
	mutex       sync.Mutex
	compared    int // parts of outputs
	differences map[string]*difference
}

type difference struct {
	text   string
	places []string
}

func (r *report) note(place string, before, after output) {
	names := slices.Sorted(maps.Keys(before))
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		text := differenceOf(before, after, name)
		r.mutex.Lock()
		r.compared++
		if text != "" {
			if r.differences == nil {
				r.differences = map[string]*difference{}
			}
			key := name + "\n" + changed(text)
			d := r.differences[key]
			if d == nil {
				d = &difference{text: text}
				r.differences[key] = d
			}
			d.places = append(d.places, place+": "+name)
		}
		r.mutex.Unlock()
	}
}

// differenceOf describes how one part of two outputs differs; "": not at all.
func differenceOf(before, after output, name string) string {
	a, inBefore := before[name]
	b, inAfter := after[name]
	switch {
	case !inBefore:
		return "+ is written only after the change\n"
	case !inAfter:
		return "- is written only before the change\n"
	case bytes.Equal(a, b):
		return ""
	case utf8.Valid(a) && utf8.Valid(b) && !bytes.ContainsRune(a, 0) && !bytes.ContainsRune(b, 0):
		text := string(diff.Diff("before", a, "after", b))
		return text[strings.Index(text, "@@"):]
	}
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return fmt.Sprintf("- %d bytes, at %d: %x\n+ %d bytes, at %d: %x\n",
		len(a), at, tail(a, at), len(b), at, tail(b, at))
}

func tail(b []byte, at int) []byte { return b[at:min(len(b), at+16)] }

// changed has the lines of a diff that are not the same before and after.
func changed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] == '-' || line[0] == '+' {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (r *report) print(w io.Writer, lines int) {
	for _, d := range r.differences {
		slices.Sort(d.places)
	}
	list := slices.SortedFunc(maps.Values(r.differences), func(a, b *difference) int {
		return cmp.Compare(a.places[0], b.places[0])
	})
	for _, d := range list {
		fmt.Fprintf(w, "%s\n", d.places[0])
		for i, p := range d.places[1:] {
			if i == 3 {
				fmt.Fprintf(w, "... and in %d other places\n", len(d.places)-4)
				break
			}
			fmt.Fprintf(w, "%s\n", p)
		}
		n := 0
		for line := range strings.Lines(d.text) {
			if n++; lines > 0 && n > lines {
				fmt.Fprintf(w, "    ... and %d more lines\n", strings.Count(d.text, "\n")-lines)
				break
			}
			if len(line) > 400 {
				line = line[:400] + "...\n"
			}
			fmt.Fprintf(w, "    %s", line)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%d outputs compared, %d different differences\n", r.compared, len(list))
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// comparePrograms has both builds record everything, and compares what of a recording only the program decides. The
// build after the change reads.
func (s *session) comparePrograms() error {
	begin := time.Now()
	for _, p := range s.programs {
		var outputs [2]output
		for i, b := range []build{s.before, s.after} {
			// The folder is the same for both, as is that of the cache: paths are recorded, and lie on the program's
			// stack.
			dir := s.path("run")
			b.cache = s.path("cache")
			err := errors.Join(os.Mkdir(dir, 0o755), os.RemoveAll(b.cache))
			if err != nil {
				return err
			}
			if outputs[i], err = s.record(b, p, dir); err != nil {
				return err
			}
			to := s.path(fmt.Sprintf("%s-%d", p.name, i))
			if err := os.Rename(dir, to); err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(to, "*.htap"))
			if err != nil {
				return err
			}
			answers, err := s.after.stable(p, files)
			if err != nil {
				return err
			}
			for _, name := range []string{"stdout", "stderr"} {
				outputs[i][name] = p.quiet(outputs[i][name])
			}
			maps.Copy(outputs[i], answers)
		}
		s.note("program "+p.name, outputs[0], outputs[1])
	}
	fmt.Fprintf(os.Stderr, "programs: %d, %v\n", len(s.programs), time.Since(begin).Round(time.Second))
	return nil
}

// stable asks about recordings of a program and returns of the answers what does not change from run to run.
func (b build) stable(p program, recordings []string) (output, error) {
	questions := []string{
		"report --json", "mismatches --json", "regions --json", "dump --stacks --json", "dump --threads --json",
		"dump --regions --marks --ranges --json",
		"top --by line --limit 0 --json --metric allocations,bytes,own-peak,leaked,temporary,slack,copied,depth",
	}
	switch {
	case p.sums == "-":
		questions = nil
	case p.sums != "":
		questions = []string{"top --by function --limit 0 --json --focus " + p.sums +
			" --metric allocations,bytes,deallocations,freed,leaked,leaked-blocks"}
	case !slices.Contains(p.flags, "count"):
		questions = append(questions, "dump --events --json")
	}
	out := output{}
	for _, path := range recordings {
		name := filepath.Base(path)
		for _, q := range append(questions, "verify") {
			args := append([]string{b.path}, strings.Fields(q)...)
			answer, err := execute(filepath.Dir(path), b.environment(), append(args, name))
			if err != nil {
				return nil, err
			}
			text := answer["stdout"]
			if strings.Contains(q, "json") {
				text = mask(text)
			}
			out["heaptap "+q+" "+name] = append(append(text, answer["stderr"]...), answer["status"]...)
		}
	}
	return out, nil
}

// quiet masks in what a run prints whatever depends on time, and sorts the lines: of two processes either may be the
// first.
func (p program) quiet(text []byte) []byte {
	if p.sums == "-" {
		return nil
	}
	text = variable.ReplaceAll(text, []byte("..."))
	if p.sums != "" {
		text = number.ReplaceAll(text, []byte("..."))
	}
	lines := strings.SplitAfter(string(text), "\n")
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

var (
	variable = regexp.MustCompile(`(?m)\d[\d.,]* (ns|us|µs|ms|s)\b|\(\d[\d.]* \w+, peak` +
		`|^(recording|time) .*$(\n {14}.*$)*|^ *resident.*$(\n {15}.*$)*|/dev/shm/\S+|\b\d{3,}\b`)
	number = regexp.MustCompile(`\d[\d.,]*( [kMG]?B)?`)
)

// mask leaves out of JSON values what time, chance or the layout of the address space decide. What is not JSON it
// leaves as it is.
func mask(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", " ")
	for {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return out.Bytes()
		} else if err != nil {
			return append(out.Bytes(), text[d.InputOffset():]...)
		}
		if err := e.Encode(masked(v)); err != nil {
			panic(err) // it was decoded
		}
	}
}

var unstable = regexp.MustCompile(`_ns$|_event$|^bytes_per|rss|resident|virtual|pss|fault|system_|cost|waits|` +
	`lifetime|chunks|full_steps|late_events|^(samples|born|pid|tid|parent|address|addr|start|end|offset|env|host|dir|` +
	`time|recorder|version|build_id)$`)

// agent matches the name of the folder of the agent's library: a hash of the library.
var agent = regexp.MustCompile(`heaptap-agent-[0-9a-f]+`)

func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if unstable.MatchString(name) {
				delete(v, name)
				continue
			}
			if file, ok := x.(map[string]any); ok && name == "recording" {
				delete(file, "bytes")
			}
			v[name] = masked(x)
		}
	case string:
		return agent.ReplaceAllString(v, "heaptap-agent")
	case []any:
		for i, x := range v {
			v[i] = masked(x)
		}
	}
	return v
}

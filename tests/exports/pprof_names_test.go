package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/programs"
)

// pprofSums are what the judge of pprof's profiles says.
type pprofSums struct {
	Types, Comments []string
	Self, Stacks    map[string][]uint64
}

// TestPprofParca holds profiles to the rules by which Parca takes them.
func TestPprofParca(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		for _, flags := range [][]string{nil, {"--by", "thread"}, {"--module", "libc", "--metric", "live"},
			{"--from", "50%"}} {
			judge[pprofSums](t, "pprof", exported(t, "pprof", path, flags...))
		}
	})
}

// TestPprofNames holds that viewers which add up by the names of functions, as Pyroscope and pprof -top do, show call
// stacks and functions as heaptap does: also those without a name.
func TestPprofNames(t *testing.T) {
	check := func(t *testing.T, path string) (nameless int) {
		t.Helper()
		file := exported(t, "pprof", path)
		p := judge[pprofSums](t, "pprof", file)[0]
		for i, typ := range p.Types {
			metric := metricOf[typ]
			want := map[string]uint64{}
			for name, n := range selves(t, path, metric) {
				want[printable(name)] += n
			}
			got := map[string]uint64{}
			for name, list := range p.Self {
				if list[i] > 0 {
					got[name] = list[i]
				}
			}
			sameSelves(t, typ, got, want)
			if typ == "alloc_space" {
				sameSelves(t, "pprof -top", pprofTop(t, file, typ), want)
			}
		}
		stacks := stacksOf(t, path, "bytes")
		i := 1 // alloc_space
		for frames, list := range p.Stacks {
			if n := stacks[strings.ReplaceAll(frames, "; ", ": ")]; n != list[i] && !strings.Contains(path, "torture") {
				t.Errorf("%.300s: %d bytes, expected %d", frames, list[i], n)
			}
			if strings.Contains(frames, "+0x") {
				nameless++
			}
		}
		if len(p.Stacks) != len(stacks) && !strings.Contains(path, "torture") {
			t.Errorf("%d call stacks, expected %d", len(p.Stacks), len(stacks))
		}
		return nameless
	}
	each(t, func(t *testing.T, _, path string) { check(t, path) })
	t.Run("stripped", func(t *testing.T) {
		if _, err := recorded(); err != nil { // which makes a folder
			t.Fatal(err)
		}
		folder := t.TempDir()
		shop, path := filepath.Join(folder, "shop"), filepath.Join(folder, "shop.htap")
		tool(t, "g++", "-O1", "-s", "-o", shop, "testdata/shop.cc")
		if err := record(&programs.Case{Args: []string{shop}}, folder, path); err != nil {
			t.Fatal(err)
		}
		if check(t, path) == 0 {
			t.Error("no call stack has a function without a name")
		}
	})
}

// printable is a name with its control characters escaped, and the bytes of the torture's name that are not UTF-8.
func printable(name string) string {
	name = strings.ReplaceAll(name, "\uFFFD", `\xff\xfe`)
	return controls.ReplaceAllStringFunc(name, func(s string) string {
		return strings.Trim(strconv.QuoteToASCII(s), `"`)
	})
}

var controls = regexp.MustCompile(`[\x00-\x1f\x7f\x{80}-\x{9f}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]`)

var topLine = regexp.MustCompile(`^ *(\d+)B? +\S+% +\S+% +\d+B? +\S+%  (.*?)(?: \((?:partial-)?inline\))?$`)

// pprofTop are the functions' own values of a type, as go tool pprof -top has them.
func pprofTop(t *testing.T, file, typ string) map[string]uint64 {
	t.Helper()
	text := tool(t, thePprof(t), "-symbolize=none", "-top", "-nodecount=1000000", "-nodefraction=0",
		"-unit=B", "-sample_index="+typ, file)
	list := map[string]uint64{}
	_, rows, _ := strings.Cut(string(text), "flat%")
	for line := range strings.Lines(rows) {
		if m := topLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			if n, _ := strconv.ParseUint(m[1], 10, 64); n > 0 {
				list[m[2]] += n
			}
		}
	}
	return list
}

// stacksOf are the bytes and the like of call stacks, by the functions from the outermost on.
func stacksOf(t *testing.T, path, metric string) map[string]uint64 {
	t.Helper()
	list := map[string]uint64{}
	for d := json.NewDecoder(strings.NewReader(read(t, exported(t, "jsonl", path)))); ; {
		var row map[string]any
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		frames, _ := row["frames"].(string)
		n, _ := row[metric].(float64)
		list[frames] += uint64(n)
	}
}

// TestPprofArguments has a program get an argument that steers terminals.
func TestPprofArguments(t *testing.T) {
	if _, err := recorded(); err != nil { // which compiles the program
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "a.htap")
	if err := record(&programs.Case{Args: []string{filepath.Join(dir, "four"), "\x1b[31mred\nline\u009b"}}, folder,
		path); err != nil {
		t.Fatal(err)
	}
	file := exported(t, "pprof", path)
	comments := strings.Join(judge[pprofSums](t, "pprof", file)[0].Comments, "|")
	if !strings.Contains(comments, `\x1b[31mred\nline\u009b`) || strings.ContainsAny(comments, "\x1b\n\u009b") {
		t.Errorf("%q", comments)
	}
	out, err := exec.Command(thePprof(t), "-symbolize=none", "-comments", file).Output()
	if err != nil || bytes.ContainsAny(out, "\x1b") {
		t.Errorf("%v: %q", err, out)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// extremeCommands are the arguments with which each command reads extreme recordings: FILE is the recording, OUT a file
// that may be written. Commands that read no recording have none. A new command needs its cases here.
var extremeCommands = map[string][]string{
	"agent": nil, "cache": nil, "completion": nil, "ctl": nil, "env": nil, "help": nil, "import": nil, "man": nil,
	"run": nil, "version": nil,

	// Extreme recordings have no addresses. TestHostilePlaces and TestHostileFilm of internal/query have.
	"compactness": nil, "frames": nil,

	"blocks": {"FILE", "--json FILE", "--sort age --at end --limit 0 --exact FILE", "--from 50% --focus . FILE"},
	"check":  {"--max-peak 1T FILE", "--max-leaked 1T --max-allocations 1G --no-growth --json FILE"},
	"diff": {"FILE FILE", "--json FILE FILE", "--by line FILE FILE", "--tree FILE FILE",
		"--tree --up --unchanged --scale FILE FILE", "--unchanged --scale --fold FILE FILE", "FILE FILE -- FILE",
		"--json FILE -- FILE FILE", "--static FILE FILE", "--static --json --unchanged FILE FILE"},
	"dump": {"FILE", "--json FILE", "--blocks --modules --threads --samples --stack-memory --pages FILE",
		"--stacks FILE",
		"--events FILE", "--events --stacks --json FILE", "--events --from peak --to end FILE",
		"--events --kind alloc,mark --focus . --limit 5 FILE", "--events --lifetime never FILE",
		"--events --at 50% --before --limit 3 --json FILE"},
	"export": {"--list", "--list --json", "-f pprof -o OUT FILE",
		"-f jsonl -o OUT --hide . --from 50% --at peak FILE"}, // see also TestExtremeExports
	"generations": {"FILE", "--json FILE", "--rows 3 --columns 5 --exact FILE", "--columns 200 --json FILE",
		"--from 50% --focus . --metric kept-blocks FILE", "--marks FILE", "--marks --columns 200 --json FILE"},
	"globals": {"FILE", "--json FILE", "--limit 0 --exact FILE", "--module x FILE"},
	"hist": {"FILE", "--json FILE", "--show exact --limit 0 FILE", "--focus . --from 50% FILE",
		"--heat time,lifetime,reallocs FILE", "--heat time,lifetime,reallocs --json --lifetime never FILE"},
	"leaks":      {"FILE", "--json FILE", "--suggest FILE", "--runtime --frames 0 FILE"},
	"log":        {"FILE", "--json FILE", "--size 1.. FILE", "--event 3 --limit 2 FILE"},
	"memory":     {"FILE", "--json FILE", "--limit 0 --exact FILE", "--at 50% FILE"},
	"mismatches": {"FILE", "--json FILE", "--limit 0 --frames 0 --exact FILE"},
	"open":       nil, // goes on until Ctrl-C; internal/api has the answers
	"pack":       {"-o OUT FILE"},
	"ps":         {"FILE", "--json FILE"},
	"push":       nil, // see TestExtremePush
	"merge":      {"-o OUT FILE FILE"},
	"repair":     {"-o OUT FILE"},
	"replay":     nil, // see TestExtremeReplay
	"regions":    {"FILE", "--json FILE", "--sort highest --from 50% FILE"},
	"report":     {"FILE", "--json FILE", "--json=flat FILE", "--top 0 FILE", "--frames 0 FILE"},
	"rise":       {"FILE", "--json FILE", "--from 50% --limit 0 FILE", "--to peak --by thread --exact FILE"},
	"runs":       nil, // takes a folder
	"scrub":      {"--functions -o OUT FILE"},
	"serve":      nil, // as open
	"source":     {"FILE", "--json FILE", "--from 50% FILE"},
	"threads":    {"FILE", "--json FILE", "--from peak FILE", "--show totals,matrix FILE"},
	"timeline":   {"FILE", "--json FILE", "--csv --steps 7 FILE", "--top 3 --fold FILE", "--from 50% --json FILE"},
	"sql": {"FILE --query totals", "--json FILE --query functions", "--csv --query sizes --limit 5 FILE",
		"--from 50% --query peak FILE"},
	"top": {"FILE", "--json --limit 0 FILE", "--by line FILE", "--by address FILE", "--by file FILE",
		"--by module FILE", "--by stack FILE",
		"--by thread FILE", "--by size FILE", "--by allocator --json FILE", "--metric own-peak,copied,time,churn " +
			"--exact FILE",
		"--hide . FILE", "--from 50% --json FILE"},
	"tree": {"FILE", "--json FILE", "--up FILE", "--up --json FILE", "--of . FILE", "--of . --json FILE",
		"--by stack FILE", "--threshold 0 FILE"},
	"verify": {"FILE", "--json FILE", "-v FILE"},
}

// extremes write the recordings.
var extremes = map[string]func(t *testing.T, path string){
	"empty":     writeEmpty,
	"one event": writeOne,
	"names":     writeNames,
	"twice":     writeTwice,
	"deep":      func(t *testing.T, path string) { writeDeep(t, path, 5) },
	"stripped":  recordStripped,
}

// TestExtremes runs all commands on recordings that are nearly empty or very unusual: they answer within seconds, with
// text that is safe for a terminal, or with valid JSON.
func TestExtremes(t *testing.T) {
	t.Parallel()
	for name, write := range extremes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.htap")
			write(t, path)
			for _, c := range newRootCommand(allCommands).Commands() {
				cases, known := extremeCommands[c.Name()]
				if !known && !c.Hidden {
					t.Errorf("heaptap %s: extremeCommands has no case for it", c.Name())
				}
				for _, text := range cases {
					if name == "deep" && c.Name() == "report" && text == "--json=flat FILE" {
						text = "--json=flat --top 20 FILE" // all frames of 1,000 stacks, 2,500 each, are 300 MB
					}
					askExtreme(t, path, c.Name()+" "+text)
				}
			}
		})
	}
}

// TestExtremeReplay replays the same recordings: each yields a table, or one line that says why not.
func TestExtremeReplay(t *testing.T) {
	t.Parallel()
	for name, write := range extremes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.htap")
			write(t, path)
			for _, more := range [][]string{nil, {"--json"}, {"--from", "50%", "--order", "total"}} {
				args := append([]string{"replay", "--allocators", "glibc", "--runs", "1", path}, more...)
				cmd := plainCommand(t, args...)
				out, err := cmd.Output()
				var exit *exec.ExitError
				switch {
				case errors.As(err, &exit):
					lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
					if len(lines) != 1 || !strings.HasPrefix(lines[0], "heaptap: ") || len(out) > 0 {
						t.Errorf("%q: %q and %q", more, exit.Stderr, out)
					}
				case err != nil:
					t.Error(err)
				case more != nil && more[0] == "--json":
					validJSON(t, "replay", out)
				default:
					plainText(t, "replay", string(out), false)
				}
			}
		})
	}
}

func askExtreme(t *testing.T, path, line string) {
	t.Helper()
	args := strings.Fields(line)
	for i, a := range args {
		switch a {
		case "FILE":
			args[i] = path
		case "OUT":
			args[i] = path + "." + args[0] + ".htap"
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	prepared := plainCommand(t, args...)
	cmd := exec.CommandContext(ctx, prepared.Path, args...)
	cmd.Env, cmd.Dir = prepared.Env, prepared.Dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("heaptap %s: %v\n%.2000s", line, err, errs.String())
		return
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--json") }) {
		validJSON(t, line, out.Bytes())
		return
	}
	// Output for programs, and output without limits, has complete names.
	plainText(t, line, out.String(), slices.Contains(args, "0") || slices.Contains(args, "--suggest") ||
		args[0] == "dump")
}

func validJSON(t *testing.T, line string, b []byte) {
	t.Helper()
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var v json.RawMessage
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("heaptap %s: %v: %.300q", line, err, b)
			return
		}
	}
}

// plainText checks that an answer is readable text: without control characters and overlong lines.
func plainText(t *testing.T, line, text string, long bool) {
	t.Helper()
	if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
		t.Errorf("heaptap %s: a control character: %.200q", line, text[max(0, i-60):])
	}
	if !utf8.ValidString(text) {
		t.Errorf("heaptap %s: no UTF-8", line)
	}
	for _, bad := range []string{"NaN", "Inf ", "%!", "<nil>", "18446744073709551"} {
		if strings.Contains(text, bad) {
			t.Errorf("heaptap %s: %q in %.2000s", line, bad, text)
		}
	}
	for l := range strings.Lines(text) {
		if utf8.RuneCountInString(l) > 1000 && !long {
			t.Errorf("heaptap %s: a line of %d characters: %.200q", line, utf8.RuneCountInString(l), l)
			break
		}
	}
}

// extreme is a handmade recording.
type extreme struct {
	t *testing.T
	w *recording.Writer
}

func newExtreme(t *testing.T, path string) *extreme {
	t.Helper()
	w, err := recording.Create(path, event.Process{PID: 7, Args: []string{"a"}, Arch: "amd64"}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &extreme{t, w}
}

func (x *extreme) malloc(time int64, stack uint32, size uint64) {
	x.t.Helper()
	if err := x.w.Event(&event.Event{Time: time, Kind: event.Alloc, Func: event.Malloc, Stack: stack, Size: size,
		Ref: event.NoRef}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *extreme) finish(end int64, frames map[uint32][]event.Frame) {
	x.t.Helper()
	if err := errors.Join(x.w.Symbols(frames), x.w.Finish(recording.Ending{End: end, Exited: true})); err != nil {
		x.t.Fatal(err)
	}
}

func writeEmpty(t *testing.T, path string) { newExtreme(t, path).finish(0, nil) }

func writeOne(t *testing.T, path string) {
	x := newExtreme(t, path)
	x.w.Thread(0, event.Thread{TID: 7})
	x.malloc(0, 0, 0) // of an unknown stack, of no size, at no time
	x.finish(0, nil)
}

// writeNames has hostile names: long, in other scripts, with control characters, not UTF-8.
func writeNames(t *testing.T, path string) {
	x := newExtreme(t, path)
	names := []string{strings.Repeat("std::vector<größe, ", 500) + strings.Repeat(">", 500),
		"größe::λ<名前>::операция()",
		"a\tb\nc\x1b[31md\x07\x00e",
		"\xff\xfe not UTF-8 \x80", "\u202eright to left\u200b", strings.Repeat("名",
			4000), "operator()<\"quoted\" & 'quoted'>\\", " "}
	frames := map[uint32][]event.Frame{}
	x.w.Thread(0, event.Thread{TID: 7, Name: "\x1b]0;gone\x07 名前"})
	for i, name := range names {
		id := uint32(i + 1)
		x.w.Module(event.Module{ID: id, Path: "/lib/" + name, Start: uint64(id) << 20, End: uint64(id+1) << 20,
			Unload: -1})
		x.w.PC(id, event.PC{Addr: uint64(id)<<20 + 16, Module: id})
		x.w.Node(id, event.Node{Parent: id - 1, PC: id})
		frames[id] = []event.Frame{{Function: name, Linkage: name, File: "/src/" + name, Line: id, Inlined: true},
			{Function: name + "!", File: name}}
		x.malloc(int64(id)*1000, id, 100)
		x.w.Resident([]event.ResidentPart{
			{Time: 9000, Kind: event.ResidentMapping, Stack: id, Bytes: 1 << 20, Size: 1 << 55},
			{Time: 9000, Kind: event.ResidentFile, Name: "/lib/" + name, Bytes: 4096, Size: 4096}})
	}
	x.finish(10_000, frames)
}

// writeTwice has two libraries at one address, one after the other.
func writeTwice(t *testing.T, path string) {
	x := newExtreme(t, path)
	x.w.Thread(0, event.Thread{TID: 7})
	frames := map[uint32][]event.Frame{}
	for id, name := range []string{1: "one", 2: "two"} {
		if id == 0 {
			continue
		}
		unload := []int64{1: 5000, 2: -1}[id]
		x.w.Module(event.Module{ID: uint32(id), Path: "/lib/lib" + name + ".so", Start: 4096, End: 8192, Bias: 4096,
			Loaded: int64(id) * 4000, Unload: unload})
		x.w.PC(uint32(id), event.PC{Addr: 5000, Module: uint32(id)})
		x.w.Node(uint32(id), event.Node{PC: uint32(id)})
		frames[uint32(id)] = []event.Frame{{Function: "plugin_" + name, File: name + ".c", Line: 3}}
		x.malloc(int64(id)*4500, uint32(id), uint64(id)*100)
	}
	x.finish(10_000, frames)
	for _, by := range []string{"function", "line", "address", "file", "module", "stack"} {
		out, err := plainCommand(t, "top", "--by", by, "--exact", path).Output()
		if err != nil || !strings.Contains(string(out), "one") || !strings.Contains(string(out), "two") {
			t.Errorf("top --by %s: %v\n%s", by, err, out)
		}
	}
}

// writeDeep has a recursion of 5,000 frames that allocates at every so many frames.
func writeDeep(t *testing.T, path string, every uint32) {
	x := newExtreme(t, path)
	x.w.Thread(0, event.Thread{TID: 7})
	x.w.Module(event.Module{ID: 1, Path: "/bin/deep", Start: 4096, End: 8192, Bias: 4096, Unload: -1})
	x.w.PC(1, event.PC{Addr: 4100, Module: 1})
	x.w.PC(2, event.PC{Addr: 4200, Module: 1})
	x.w.Node(1, event.Node{PC: 1})
	for id := uint32(2); id <= 5000; id++ {
		x.w.Node(id, event.Node{Parent: id - 1, PC: 2})
		if id%every == 0 {
			x.malloc(int64(id)*100, id, 10)
		}
	}
	x.finish(600_000, map[uint32][]event.Frame{1: {{Function: "main", File: "deep.c", Line: 9}},
		2: {{Function: "descend", File: "deep.c", Line: 3}}})
}

// recordStripped records a program without symbols.
func recordStripped(t *testing.T, path string) {
	source, program := path+".c", path+".stripped"
	const text = `#include <stdlib.h>
static int go(int n) { void *volatile p = malloc(n); int k = n > 1 ? go(n - 1) : 0; if (n % 2) free(p); return k + 1; }
int main(void) { return go(100) != 100; }
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-s", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if out, err := plainCommand(t, "run", "-q", "-o", path, program).CombinedOutput(); err != nil {
		t.Fatalf("heaptap run: %v\n%s", err, out)
	}
}

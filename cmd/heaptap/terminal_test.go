package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestTerminal: whatever the names of files, commands, threads and functions are, no command prints control characters,
// or formulas for spreadsheets.
func TestTerminal(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a\x1b[31m\u009b\nb")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file, good := filepath.Join(dir, "=x\x1b.htap"), filepath.Join(dir, "good.htap")
	for _, path := range []string{file, good} {
		if err := tortureRecording(path, recording.Options{Addresses: true}, 120, 50, true); err != nil {
			t.Fatal(err)
		}
	}
	broken, missing := filepath.Join(dir, "broken\x1b"), filepath.Join(dir, "missing\x1b")
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(broken, b[:len(b)/2], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"run -q -o DIR/x.htap -- FILE", "run -- MISSING", "source --source-path MISSING FILE f1",
		"merge -k -o OUT FILE MISSING", "report MISSING",
		"dump --threads --modules --regions --ranges --marks --stack-memory --stacks --blocks FILE",
		"check --max-leaked 0 --format github FILE",
		"check --max-leaked 0 --format junit FILE", "export -f csv MISSING", "leaks --suppressions MISSING FILE"}
	for _, c := range recordingCommands {
		if !strings.HasPrefix(c, "export") {
			commands = append(commands, c, strings.ReplaceAll(c, "FILE", "BROKEN"))
		}
	}
	for _, v := range []string{"", ":frames", ":events", ":timeline"} {
		commands = append(commands, "export -o - -f csv"+v+" FILE", "export -o - -f folded FILE")
	}
	for _, c := range commands {
		args := strings.Fields(c)
		for i := range args {
			args[i] = strings.NewReplacer("FILE", file, "GOOD", good, "BROKEN", broken, "MISSING", missing, "OUT",
				filepath.Join(dir, "out"), "DIR", dir).Replace(args[i])
		}
		cmd := command(t, "heaptap", args...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		os.Remove(filepath.Join(dir, "out"))
		most := rune(unicode.MaxRune)
		if strings.Contains(c, "json") {
			most = 0x7f // JSON has its own escapes
		}
		for name, text := range map[string]string{"stdout": out.String(), "stderr": errs.String()} {
			at := strings.IndexFunc(text, func(r rune) bool {
				return r != '\n' && r != '\t' && r < most && unicode.IsControl(r)
			})
			if at >= 0 {
				t.Errorf("%q: %s has %q", c, name, text[max(0, at-60):min(len(text), at+40)])
			}
		}
		if strings.Contains(c, "csv") && out.Len() > 0 {
			rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
			if err != nil {
				t.Errorf("%q: %v", c, err)
			}
			for _, row := range rows {
				for _, cell := range row {
					if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "@") ||
						strings.ContainsAny(cell, "\t\r\n") {
						t.Errorf("%q: a cell %q", c, cell)
					}
				}
			}
		}
	}
}

// TestForgedTrees: report and verify find a cycle in the call tree, and a merged recording without inputs. No command
// panics.
func TestForgedTrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := makeTorture(t, dir)
	x := &torturer{dir: dir, out: os.Stderr}
	go x.watch()
	const typeNodes, typeInputs = 5, 17
	for name, c := range map[string]struct {
		of   string
		want string
		edit func(*forgedBlock) (keep bool)
	}{
		"cycle": {"plain.htap", "are their own ancestors", func(b *forgedBlock) bool {
			if b.typ == typeNodes {
				head, columns, _ := parsedColumns(b.payload)
				for i := range columns {
					if columns[i].id == 2 { // id minus parent: the first one, a root so far, gets one of those below it
						columns[i].data = append([]byte{(4-1)*2 - 1}, columns[i].data[1:]...)
					}
				}
				b.payload = joinedColumns(head, columns)
			}
			return true
		}},
		"no inputs": {"merged.htap", "the list of the recordings that were merged is missing",
			func(b *forgedBlock) bool { return b.typ != typeInputs }},
	} {
		var blocks []forgedBlock
		for _, b := range parsedBlocks(set.good[c.of]) {
			if c.edit(&b) {
				blocks = append(blocks, b)
			}
		}
		file := filepath.Join(dir, "forged.htap")
		if err := os.WriteFile(file, joinedBlocks(set.good[c.of][:forgedHeader], blocks, true), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := command(t, "heaptap", "report", file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "the recording is incomplete") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		out, err = command(t, "heaptap", "verify", file).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: verify: %v: %s", name, err, out)
		}
		for _, args := range [][]string{{"export", "-f", "heaptrack", "-o", "-"}, {"export", "-f", "csv", "-o", "-"},
			{"check", "--no-growth"}, {"report", "--json"}, {"tree"}, {"top"}} {
			out, _ := command(t, "heaptap", append(args, file)...).CombinedOutput()
			if strings.Contains(string(out), "panic") {
				t.Errorf("%s: %v: %s", name, args, out)
			}
		}
	}
}

package exports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

const reportSchema = "../../docs/report.schema.json"

// TestReportSchema holds reports as JSON to their schema, and call stacks to the table of frames: --json=flat, which
// has no table, says the same.
func TestReportSchema(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		folder := t.TempDir()
		write := func(name string, text []byte) string {
			file := filepath.Join(folder, name)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
		whole := command(t, "report", "--json", path)
		if len(whole) > 40e6 {
			t.Errorf("the report has %d bytes", len(whole))
		}
		merged := filepath.Join(folder, "merged.htap")
		command(t, "merge", "-o", merged, path, path)
		judge[struct{}](t, "schema", reportSchema, write("whole.json", whole),
			write("part.json", command(t, "report", "--json", "--from", "20%", "--focus", "main", path)),
			write("none.json", command(t, "report", "--json", "--top", "0", path)),
			write("merged.json", command(t, "report", "--json", "--top", "50", merged)))

		flat := bytes.SplitAfter(command(t, "report", "--json=flat", "--top", "50", path), []byte("\n"))
		flat = flat[:len(flat)-1]
		lines := []string{reportSchema + "#/$defs/line"}
		for i := range flat[:min(len(flat), 100)] {
			lines = append(lines, write(fmt.Sprintf("line%d", i), flat[i]))
		}
		judge[struct{}](t, "schema", lines...)
		var table struct {
			Stacks []map[string]any
			Frames []any
		}
		decode(t, command(t, "report", "--json", "--top", "50", path), &table)
		if len(table.Stacks) != len(flat) {
			t.Fatalf("%d call stacks, %d lines", len(table.Stacks), len(flat))
		}
		for i, s := range table.Stacks {
			frames := []any{}
			for _, n := range s["frames"].([]any) {
				frames = append(frames, table.Frames[int(n.(float64))])
			}
			s["frames"], s["recording"] = frames, filepath.Base(path)
			var line map[string]any
			if err := json.Unmarshal(flat[i], &line); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(s, line) {
				t.Fatalf("call stack %d is\n%v\nin the table, on its line\n%v", i, s, line)
			}
		}
	})
}

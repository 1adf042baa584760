package internal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMap holds the table "Where is it decided" of docs/design/0001 to the code: the files that it names exist, and
// contain the names beside them.
func TestMap(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "design", "0001-data-flow.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Where is it decided")
	if !found {
		t.Fatal("no such table")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for _, line := range strings.Split(table, "\n") {
		file, text := "", ""
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			name := m[1]
			switch {
			case strings.Contains(name, "/"):
				b, err := os.ReadFile(filepath.Join("..", name))
				if err != nil {
					t.Error(err)
				}
				file, text = name, string(b)
			case file != "" && !regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(text):
				t.Errorf("%s: no %s", file, name)
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: the text of every fault is in its file, once. A change that moves code moves the fault with it.
func TestTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	faults := 0
	for _, s := range sections {
		for _, f := range s.faults {
			faults++
			code, err := os.ReadFile(filepath.Join("..", "..", f.file))
			if err != nil {
				t.Errorf("%s: %v", f.title, err)
			} else if n := strings.Count(string(code), f.old); n != 1 {
				t.Errorf("%s: %s: its text is there %d times", f.file, f.title, n)
			}
		}
	}
	if faults < 40 {
		t.Errorf("%d faults", faults)
	}
}

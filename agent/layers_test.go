package agent_test

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The folders of the sources: a file includes headers of its own folder and of those before it.
var layers = []string{"base", "spool", "unwind", "record", "observe", "hooks"}

// Shared with the recorder, and with programs.
var sharedHeaders = []string{"wire.h", "../../../include/heaptap/heaptap.h"}

var includeLine = regexp.MustCompile(`^\s*#\s*include\s+"([^"]+)"`)

func TestLayers(t *testing.T) {
	files, err := filepath.Glob("src/*/*.[ch]")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sources, %v", len(files), err)
	}
	for _, file := range files {
		own := filepath.Base(filepath.Dir(file))
		layer := slices.Index(layers, own)
		if layer < 0 {
			t.Errorf("%s: not one of the folders %v", file, layers)
			continue
		}
		for _, header := range includes(t, file) {
			if slices.Contains(sharedHeaders, header) {
				continue
			}
			folder, _, _ := strings.Cut(header, "/")
			if i := slices.Index(layers, folder); i < 0 || i > layer {
				t.Errorf("%s includes %s: it may include only headers of %v", file, header, layers[:layer+1])
			}
			if _, err := os.Stat(filepath.Join("src", header)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if outside, _ := filepath.Glob("src/*.c"); len(outside) > 0 {
		t.Errorf("%v: in none of the folders %v", outside, layers)
	}
}

func includes(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var headers []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := includeLine.FindStringSubmatch(lines.Text()); m != nil {
			headers = append(headers, m[1])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return headers
}

package licenses

import (
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/goldentest"
)

// TestCurrent: go.txt has the modules that the command is linked with, and their licences.
func TestCurrent(t *testing.T) {
	t.Parallel()
	const format = `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}|{{.Dir}}{{end}}{{end}}|{{.Dir}}`
	out, err := exec.Command("go", "list", "-deps", "-f", format, "github.com/heaptap/heaptap/cmd/heaptap").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{} // their folders by name and version
	files := map[string]bool{}     // with licences
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		if len(parts) != 3 {
			continue // it is of the standard library or of heaptap
		}
		modules[parts[0]] = parts[1]
		for folder := parts[2]; strings.HasPrefix(folder, parts[1]); folder = filepath.Dir(folder) {
			for _, file := range licencesIn(t, folder) {
				files[file] = true
			}
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		heading := name
		if name, _, _ := strings.Cut(name, " "); name == "golang.org/x/sys" {
			heading += ", and the standard library of Go, which has the same licence"
		}
		if b.Len() > 0 {
			b.WriteString(rule)
		}
		b.WriteString(heading + "\n")
		ours := slices.SortedFunc(maps.Keys(files), func(x, y string) int { // the module's own first
			return cmp.Or(strings.Count(x, "/")-strings.Count(y, "/"), strings.Compare(x, y))
		})
		texts := 0
		for _, file := range ours {
			if !strings.HasPrefix(file, modules[name]+"/") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(modules[name], file)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n" + rel + ":\n\n" + strings.Trim(string(text), "\n") + "\n")
			texts++
		}
		if texts == 0 {
			t.Errorf("%s has no licence; what is embedded needs one", name)
		}
	}
	goldentest.Check(t, "../go.txt", []byte(b.String()))
}

// licencesIn returns the files of a folder that state a licence.
func licencesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE"} {
			if strings.HasPrefix(name, prefix) && e.Type().IsRegular() && !strings.HasSuffix(name, ".GO") {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
	}
	return found
}

// TestText: both kinds of parts are there.
func TestText(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"github.com/spf13/cobra v1", "golang.org/x/sys v0", "preact 11"} {
		if !strings.Contains(Text(), part) {
			t.Errorf("there is nothing about %q", part)
		}
	}
}

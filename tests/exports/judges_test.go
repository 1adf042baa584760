package exports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// build builds a module of judges, once, which lies in a folder of its own with its own dependencies: those that
// modfile names.
func build(folder, modfile string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, strings.ReplaceAll(folder+"-"+modfile, "/", "-"))
		cmd := exec.Command("go", "build", "-modfile", modfile, "-o", path, ".")
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.New(strings.TrimSpace(string(out)))
		}
		return path, nil
	})
}

var (
	buildJudges       = build("judges", "go.mod")
	buildParca        = build("judges/parca", "go.mod")
	buildCollector    = build("judges/collector", "go.mod")
	buildOldCollector = build("judges/collector", "old.mod")
)

// built is the program of a module of judges.
func built(t *testing.T, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		need.Lacks(t, "the judges cannot be built here: "+err.Error())
	}
	return path
}

// theJudges is the program that knows most of the formats.
func theJudges(t *testing.T) string {
	t.Helper()
	return built(t, buildJudges)
}

// judge has files read by a judge, and decodes what it says of each.
func judge[T any](t *testing.T, kind string, args ...string) (list []T) {
	t.Helper()
	path := theJudges(t)
	for d := json.NewDecoder(bytes.NewReader(tool(t, path, append([]string{kind}, args...)...))); ; {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
}

// selves are what functions have of a metric themselves, as heaptap top has it, by name.
func selves(t *testing.T, path, metric string) map[string]uint64 {
	t.Helper()
	var top struct {
		Rows []struct {
			Group struct {
				Function, Module, Offset string
				Unknown                  bool
			}
			Self map[string]uint64
		}
	}
	decode(t, command(t, "top", "--json", "--limit", "0", "--metric", metric, path), &top)
	list := map[string]uint64{}
	for _, r := range top.Rows {
		name := r.Group.Function
		switch {
		case r.Group.Unknown:
			name = "[unknown]"
		case name == "" && r.Group.Module != "":
			name = filepath.Base(r.Group.Module) + "+" + r.Group.Offset
		case name == "":
			name = r.Group.Offset
		}
		// JSON has one for each byte that is no UTF-8, exports one for several.
		for strings.Contains(name, "\uFFFD\uFFFD") {
			name = strings.ReplaceAll(name, "\uFFFD\uFFFD", "\uFFFD")
		}
		if n := r.Self[metric]; n > 0 {
			list[name] += n
		}
	}
	return list
}

// sameSelves compares a format's numbers of functions.
func sameSelves(t *testing.T, what string, got, want map[string]uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d functions, expected %d", what, len(got), len(want))
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %.100q: %d, expected %d", what, name, got[name], n)
		}
	}
}

package api

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// Each example of docs/api.md runs without heaptap, and with it.

func TestHashMap(t *testing.T) {
	t.Parallel()
	program := compile(t, "examples/hashmap.cc")
	kit.Run(t, program)
	out, _ := kit.Record(t, program)
	// 100,000 nodes of 16 bytes, and arrays of 8 bytes a bucket; __prime_list continues 2357, 5087, 10273, 20753,
	// 42043, 85229, 172933 after 1109, and 107897 is the first from 100000 on.
	grown := 13 + 29 + 59 + 127 + 257 + 541 + 1109 + 2357 + 5087 + 10273 + 20753 + 42043 + 85229 + 172933
	for _, want := range []string{
		fmt.Sprintf("without reserve  %d allocations, %d bytes requested", 100000+14, 1600000+8*grown),
		fmt.Sprintf("with reserve     %d allocations, %d bytes requested", 100000+1, 1600000+8*107897),
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestFixture(t *testing.T) {
	t.Parallel()
	need.File(t, "/usr/include/gtest/gtest.h")
	program := compile(t, "examples/fixture.cc", "-lgtest_main", "-lgtest")
	if out := kit.Run(t, program); !strings.Contains(out, "SKIPPED") {
		t.Errorf("without the agent the tests are not skipped\n%s", out)
	}
	if out, _ := kit.Record(t, program); !strings.Contains(out, "[  PASSED  ] 2 tests") {
		t.Errorf("the tests do not pass\n%s", out)
	}
	if out := (kit.Command{Status: 1}).Run(t, kit.Binary(t), "run", "-q", "-o", t.TempDir()+"/x.htap", "--", program,
		"--gtest_also_run_disabled_tests"); !strings.Contains(out, "the test keeps memory") {
		t.Errorf("the leak is not reported\n%s", out)
	}
}

func TestCatch(t *testing.T) {
	t.Parallel()
	need.File(t, "/usr/include/catch2/catch.hpp")
	program := compile(t, "examples/catch.cc", "-O0")
	if out := (kit.Command{Status: 3}).Run(t, program); !strings.Contains(out, "heaptap::loaded()") {
		t.Errorf("without the agent the tests do not say so\n%s", out)
	}
	kit.Record(t, program)
	kit.Command{Status: 1}.Run(t, kit.Binary(t), "run", "-q", "-o", t.TempDir()+"/x.htap", "--", program, "[.leaks]")
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	plugin := compile(t, "examples/histogram.cc", "-fPIC", "-shared")
	program := compile(t, "src/excluded.c")
	env := []string{"LD_PRELOAD=" + plugin}
	kit.Command{Env: env}.Run(t, program)
	out := kit.Command{Env: env}.Run(t, "sh", "-c", kit.Binary(t)+" run -q -o "+t.TempDir()+"/x.htap "+program+" 2>&1")
	// What is paused is not recorded, but monitored: 1,000 blocks of 2004 bytes, and 14 others from 1024 bytes on.
	if !regexp.MustCompile(`< 2\^11 bytes: 10\d\d\n`).MatchString(out) {
		t.Errorf("printed:\n%s", out)
	}
}

func TestFramework(t *testing.T) {
	t.Parallel()
	program := compile(t, "examples/framework.cc")
	kit.Run(t, program)
	out, r := kit.Record(t, program)
	for event := range 4 {
		// glibc's usable size of 4 * (1000 + event) bytes.
		want := fmt.Sprintf("event %d unpack: 1 allocations, added 0, peak %d\n", event, (4*(1000+event)+8+15)/16*16-8)
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	var marks []string
	for _, m := range r.Marks() {
		marks = append(marks, m.Name)
	}
	if got := strings.Join(marks, ", "); got != "events begin, events end" {
		t.Errorf("marks %s", got)
	}
}

func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name, tool string
		build, run []string
		want       string
	}{
		{"go", "gcc", []string{"go", "build", "-C", "examples/go", "-o", filepath.Join(dir, "go")},
			[]string{filepath.Join(dir, "go")}, "loaded 1 allocations 1 requested 7\n"},
		{"rust", "rustc", []string{"rustc", "-o", filepath.Join(dir, "rust"), "examples/example.rs"},
			[]string{filepath.Join(dir, "rust")}, "loaded 1 allocations 1 requested 8000\n"},
		{"python", "python3", nil, []string{"python3", "examples/example.py"}, "loaded 1 largest True\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			need.Tool(t, c.tool)
			if c.build != nil {
				kit.Command{Env: []string{"CGO_ENABLED=1", "GOFLAGS="}}.Run(t, c.build...)
			}
			if out := kit.Run(t, c.run...); !strings.HasPrefix(out, "loaded 0") {
				t.Errorf("without the agent: %q", out)
			}
			path := filepath.Join(dir, c.name+".%p.htap")
			out := kit.Heaptap(t, append([]string{"run", "-q", "-o", path, "--"}, c.run...)...)
			if out != c.want {
				t.Errorf("printed %q, want %q", out, c.want)
			}
		})
	}
}

// TestDocumented holds docs/api.md to the examples: what it shows is in them.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("examples/*.*")
	for _, f := range append(files, "examples/go/main.go") {
		if !strings.Contains(string(page), "tests/api/"+f) {
			t.Errorf("docs/api.md does not name tests/api/%s", f)
		}
	}
}

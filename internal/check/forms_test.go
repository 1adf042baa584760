package check

import (
	"bytes"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/query/querytest"
)

// sampleChecks applies two limits to the sample, one of which is kept.
func sampleChecks(t *testing.T, file string) *Result {
	t.Helper()
	s := querytest.Server(t)
	g := Gate{Limits: []Limit{{Metric: query.Peak, Most: 1 << 40}, {Metric: query.Leaked, Most: 0}},
		Question: func(*query.Source) (*query.Query, error) { return &query.Query{}, nil }}
	r := &Result{File: file, Source: s}
	var err error
	if r.Checks, r.Suppressed, err = g.Ask(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestJUnit: what is written can be read back, whatever characters names have.
func TestJUnit(t *testing.T) {
	t.Parallel()
	hostile := "a<b>&\"'\x00\x1b]]>\xff\u202e/x.htap"
	r := sampleChecks(t, hostile)
	bad := &Result{File: "none.htap", Err: errors.New("open none.htap: <no> \x01 such file")}
	var b bytes.Buffer
	var out JUnit
	out.Add(r, Style{Stacks: 5, Frames: 8})
	out.Add(bad, Style{Stacks: 5, Frames: 8})
	if err := out.Write(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Errors   int    `xml:"errors,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
				Error *struct {
					Message string `xml:"message,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	d := xml.NewDecoder(&b)
	d.Strict = true
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v:\n%s", err, b.String())
	}
	s := doc.Suites
	if len(s) != 2 || s[0].Tests != 3 || s[0].Failures != 1 || s[0].Errors != 0 || s[1].Tests != 1 ||
		s[1].Failures != 0 || s[1].Errors != 1 {
		t.Fatalf("suites: %+v", s)
	}
	if !strings.Contains(s[0].Name, `a<b>&"'`) {
		t.Errorf("the file's name became %q", s[0].Name)
	}
	for _, c := range s[0].Cases {
		if (c.Failure != nil) != (c.Name == "max-leaked") {
			t.Errorf("%s: failure %v", c.Name, c.Failure)
		}
		if c.Failure != nil && !strings.Contains(c.Failure.Text, "    at ") {
			t.Errorf("no call stack in %q", c.Failure.Text)
		}
	}
	if m := s[1].Cases[0].Error.Message; !strings.Contains(m, "<no>") {
		t.Errorf("the error became %q", m)
	}
}

// TestAnnotate: characters with a meaning in a workflow command are escaped, more of them in properties.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	annotate(&b, "a,b:c%/x.c", 7, "t: 5%,\n", "std::x, 5 %\r\nnext ::error::")
	want := "::error file=a%2Cb%3Ac%25/x.c,line=7,title=t%3A 5%25%2C%0A::std::x, 5 %25%0D%0Anext ::error::\n"
	if got := b.String(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	b.Reset()
	annotate(&b, "", 7, "t", "m")
	if got := b.String(); got != "::error title=t::m\n" {
		t.Errorf("an annotation without a place: %s", got)
	}
	b.Reset()
	r := sampleChecks(t, "x\n::error::.htap")
	if err := WriteGitHub(&b, r, "/", Style{Stacks: 1, Frames: 8}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 || !strings.HasPrefix(b.String(), "::error file=") {
		t.Errorf("one annotation has %d lines:\n%s", n, b.String())
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "lib", "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "lib", "src", "a.c"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		root + "/lib/src/a.c":          "lib/src/a.c",
		root + "/gone/b.c":             "gone/b.c",
		root + "/lib/../lib/src/a.c":   "lib/src/a.c",
		"/build/work/lib/src/a.c":      "lib/src/a.c",
		"/build/work/other/src/zzzz.c": "/build/work/other/src/zzzz.c",
		"src/a.c":                      "src/a.c",
		root + "x/lib/src/b.c":         root + "x/lib/src/b.c",
	} {
		if got := inRepository(file, root); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	frames := []profile.Frame{
		{Function: "calloc", File: "rtld.h", Line: 1, Module: "/lib64/ld-linux-x86-64.so.2"},
		{Function: "std::vector<int>::push_back(int)", File: "stl.h", Line: 2, Module: "/bin/a"},
		{Function: "nameless", Module: "/bin/a"},
		{Function: "own", File: "own.c", Line: 3, Module: "/bin/a"},
		{Function: "main", File: "main.c", Line: 4, Module: "/bin/a"},
	}
	if file, line := place(frames, root); file != "own.c" || line != 3 {
		t.Errorf("%s:%d", file, line)
	}
	if file, _ := place(frames[:3], root); file != "" {
		t.Errorf("place of a stack without its own source file: %s, want none", file)
	}
}

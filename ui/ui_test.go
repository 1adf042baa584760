package ui

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/tests/need"
)

// inputs are the files beside src that decide what is built. build.mjs has the same list.
var inputs = []string{".npmrc", "build.mjs", "package-lock.json", "package.json", "tsconfig.json"}

// TestCommitted: dist was built from the sources that are there. This needs no node; make lint builds it again and
// compares bytes.
func TestCommitted(t *testing.T) {
	t.Parallel()
	noted, err := os.ReadFile("dist.sum")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(noted), "\n"), "\n")
	var got []string
	for _, path := range slices.Concat(inputs, filesBelow(t, "src"), filesBelow(t, "dist")) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		got = append(got, hex.EncodeToString(sum[:])+"  "+path)
	}
	slices.SortFunc(got, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dist is not built from these sources: run `make ui` and commit it (- noted):\n%s", diff)
	}
}

// What a script imports before it runs, and what when it needs it.
var (
	static  = regexp.MustCompile(`(?:from|import)"\./([\w.-]+\.js)"`)
	dynamic = regexp.MustCompile(`import\("\./([\w.-]+\.js)"\)`)
)

// TestSize: each page is there at once. Its scripts are that of the app, its own, and what these import; other pages'
// come when nothing else is to be done.
func TestSize(t *testing.T) {
	t.Parallel()
	const most, mostCompressed = 250_000, 85_000
	contents := map[string][]byte{}
	for _, path := range filesBelow(t, "dist") {
		if filepath.Ext(path) != ".js" {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		contents[filepath.Base(path)] = content
	}
	var needs func(name string, found map[string]bool)
	needs = func(name string, found map[string]bool) {
		if found[name] {
			return
		}
		if contents[name] == nil {
			t.Fatalf("%s is imported, and not there", name)
		}
		found[name] = true
		for _, m := range static.FindAllSubmatch(contents[name], -1) {
			needs(string(m[1]), found)
		}
	}
	sizes := func(names map[string]bool) (size, compressed countingWriter) {
		for name := range names {
			w := gzip.NewWriter(&compressed)
			if _, err := w.Write(contents[name]); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			size += countingWriter(len(contents[name]))
		}
		return size, compressed
	}
	all := map[string]bool{}
	for name := range contents {
		all[name] = true
	}
	size, compressed := sizes(all)
	t.Logf("all JavaScript: %d bytes, compressed %d", size, compressed)
	first := map[string]bool{}
	needs("app.js", first)
	var pages [][][]byte
	for name := range first {
		pages = append(pages, dynamic.FindAllSubmatch(contents[name], -1)...)
	}
	if len(pages) < 14 {
		t.Fatalf("app.js imports %d pages", len(pages))
	}
	for _, m := range pages {
		page := string(m[1])
		found := map[string]bool{}
		needs("app.js", found)
		needs(page, found)
		size, compressed := sizes(found)
		t.Logf("%s: %d bytes, compressed %d", page, size, compressed)
		if size > most || compressed > mostCompressed {
			t.Errorf("%s needs %d bytes, compressed %d: at most %d and %d", page, size, compressed, most,
				mostCompressed)
		}
	}
}

// TestSelfContained: the page loads nothing from elsewhere and has no script or style of its own, which the content
// security policy would refuse.
func TestSelfContained(t *testing.T) {
	t.Parallel()
	page, err := fs.ReadFile(Files(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		if _, err := fs.Stat(Files(), strings.TrimPrefix(m[1], "/")); err != nil || !strings.HasPrefix(m[1], "/") {
			t.Errorf("index.html refers to %q, which is not a file of the app", m[1])
		}
	}
	if m := regexp.MustCompile(`<script>|<style|\sstyle=|\son\w+=`).FindString(string(page)); m != "" {
		t.Errorf("index.html contains %q", m)
	}
}

// TestLicenses: each package that package.json wants in the app is in the list, with the text of its licence.
func TestLicenses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"@preact/signals 2.", "@preact/signals-core ", "preact 11."} {
		if !strings.Contains(Licenses(), name) {
			t.Errorf("licenses.txt does not mention %q", name)
		}
	}
	if n := strings.Count(Licenses(), "Permission is hereby granted"); n != 3 {
		t.Errorf("licenses.txt has %d licence texts, not 3", n)
	}
}

// TestModel runs the tests of the app's logic.
func TestModel(t *testing.T) {
	t.Parallel()
	runNode(t, "build.mjs", "test")
}

// TestPage drives the app through Chromium, with a server that answers as the real one does.
func TestPage(t *testing.T) {
	t.Parallel()
	runNode(t, "test/browser.mjs", need.Tool(t, "chromium"))
}

// TestTimeline drags, zooms and types on the timeline alone, in Chromium.
func TestTimeline(t *testing.T) {
	t.Parallel()
	runNode(t, "test/harness/timeline.mjs", need.Tool(t, "chromium"))
}

// TestFlame moves, zooms and searches in the flame graph alone, in Chromium, and measures what a frame takes.
func TestFlame(t *testing.T) {
	t.Parallel()
	runNode(t, "test/harness/flame.mjs", need.Tool(t, "chromium"))
}

// TestRows drives the pages of rows.
func TestRows(t *testing.T) {
	t.Parallel()
	runNode(t, "test/rows.mjs", need.Tool(t, "chromium"))
}

func runNode(t *testing.T, args ...string) {
	t.Helper()
	node := need.Tool(t, "node")
	need.File(t, "node_modules/.package-lock.json") // make ui installs these
	filesBelow(t, "test")                           // so that Go knows that the result depends on them
	out, err := exec.Command(node, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("node %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	t.Logf("%s", out)
}

func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// countingWriter counts the bytes that are written to it.
type countingWriter int

func (c *countingWriter) Write(p []byte) (int, error) {
	*c += countingWriter(len(p))
	return len(p), nil
}

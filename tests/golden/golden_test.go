package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// planted is a build that differs in one place of each kind.
const planted = `
case "$*" in
"run "*) set -- "$@" and an argument more;;
esac
"$heaptap" "$@"
status=$?
case "$*" in
"top rec/cut.htap") echo more;;
"hist --json rec/"*) echo more >&2;;
"leaks rec/cut.htap") exit 7;;
"repair "*/small.htap) echo more >>out;;
"export "*/small.htap) rm out;;
"import "*shop.massif.out) echo else;;
"help modes") echo another;;
esac
exit $status
`

func TestMain(m *testing.M) { kit.Main(m) }

// TestPlanted compares a build with itself, which must find nothing, and with one in which differences are planted: all
// are found, and nothing else is.
func TestPlanted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	heaptap := kit.Binary(t)
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "planted")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nheaptap="+heaptap+"\n"+planted), 0o755); err != nil {
		t.Fatal(err)
	}
	massif := filepath.Join(root, "internal/import/testdata/shop.massif.out")
	for _, c := range []struct {
		after string
		want  []string
	}{
		{heaptap, nil},
		{script, []string{
			"imports: heaptap import -o out " + massif + ": stdout",
			"program small: heaptap report --json small.htap",
			"program small: stderr", // the summary
			"recordings: heaptap export -o out -f csv rec/small.htap: file out",
			"recordings: heaptap hist --json rec/cut.htap: stderr",
			"recordings: heaptap leaks rec/cut.htap: status",
			"recordings: heaptap repair -o out rec/small.htap: file out",
			"recordings: heaptap top rec/cut.htap: stdout",
			"texts: heaptap help modes: stdout",
		}},
	} {
		s := session{
			root:     root,
			options:  options{before: heaptap, after: c.after, jobs: 2, keep: filepath.Join(t.TempDir(), "work")},
			programs: []program{{name: "small", source: "corpus/src/recursion.c"}},
			commands: []string{
				"top FILE", "hist --json FILE", "leaks FILE", "repair -o OUT FILE", "export -o OUT -f csv FILE",
			},
			texts: []string{"help", "nonsense"},
		}
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for d := range maps.Values(s.differences) {
			got = append(got, slices.Min(d.places))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			var text bytes.Buffer
			s.print(&text, 10)
			t.Errorf("differences in %q, want %q\n%s", got, c.want, &text)
		}
	}
}

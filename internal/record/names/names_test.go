package names_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/record/names"
	"github.com/heaptap/heaptap/internal/spool"
)

func TestProgramName(t *testing.T) {
	dir := t.TempDir()
	exe := filepath.Join(dir, "dash")
	for _, err := range []error{
		os.WriteFile(exe, []byte("program"), 0o755), os.Symlink("dash", filepath.Join(dir, "sh")),
		os.Mkdir(filepath.Join(dir, "bin"), 0o755),
		os.Symlink("../dash", filepath.Join(dir, "bin", "ash")), os.WriteFile(filepath.Join(dir, "other"), nil, 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/nonexistent:"+filepath.Join(dir, "bin"))
	for called, want := range map[string]string{
		"sh": "sh", "-sh": "sh", "ash": "ash", "./sh": "sh", "bin/ash": "ash", dir + "/sh": "sh", "dash": "dash",
		"other": "dash", "./other": "dash", "nginx: worker process": "dash", "": "dash", "/": "dash", "..": "dash",
		"bin/..": "dash", "sh/": "sh",
	} {
		meta := spool.Meta{Exe: exe, Args: []string{called}, Dir: dir}
		if got := names.Program(&meta); got != want {
			t.Errorf("called by %q: %q, want %q", called, got, want)
		}
	}
	if got := names.Program(&spool.Meta{Exe: exe}); got != "dash" {
		t.Errorf("without arguments: %q", got)
	}
	if got := names.Program(&spool.Meta{Args: []string{"sh"}}); got != "program" {
		t.Errorf("without a file: %q", got)
	}
}

// TestNamesStayInTheirFolder has a host and a program choose names that lead elsewhere: a placeholder's value is a part
// of one element.
func TestNamesStayInTheirFolder(t *testing.T) {
	hostile := []string{"../../X", "..", ".", "", "/", "/etc/passwd", "a\x00b", "\x1b[31mred", "a\nb",
		strings.Repeat("x", 5000), strings.Repeat("ü", 200), "\xff\xfe", "a\u202eb", "%p", "%h"}
	for _, template := range []string{"/out/%n.%p.htap", "/out/%h/%n.htap", "/out/%h", "/out/%n", "/out/%h%n",
		"/out/.%h/x", "/out/%n/%h/%r/%p"} {
		for _, host := range hostile {
			for _, exe := range hostile {
				got := names.NewTemplate(template).Next(4711, &spool.Meta{Host: host, Exe: "/bin/" + exe})
				if filepath.Clean(got) != got || strings.Count(got, "/") != strings.Count(template, "/") ||
					!strings.HasPrefix(got, "/out/") {
					t.Errorf("%s with host %q and program %q: %q", template, host, exe, got)
				}
				for _, e := range strings.Split(got, "/") {
					if len(e) > 255 || strings.ContainsFunc(e,
						func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
						t.Errorf("%s with host %q and program %q: element %q", template, host, exe, e)
					}
				}
			}
		}
	}
	for template, want := range map[string]string{"/o/%n.%p.htap": "/o/my prog.7.htap",
		"/o/%h-100%%-%r": "/o/build.example.org-100%-none", "rel/%n": "rel/my prog"} {
		if got := names.NewTemplate(template).Next(7,
			&spool.Meta{Host: "build.example.org", Exe: "/usr/bin/my prog"}); got != want {
			t.Errorf("%s: %q, not %q", template, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		output string
		want   []string
	}{
		{"", []string{"p.7.htap", "p.7.2.htap", "p.7.3.htap"}},
		{dir, []string{dir + "/p.7.htap", dir + "/p.7.2.htap"}},
		{"a/", []string{"a/p.7.htap"}},
		{"x.htap", []string{"x.htap", "x.2.htap"}},
		{"x.%p", []string{"x.7", "x.7.2"}},
		{"%n-%%p.htap", []string{"p-%p.htap", "p-%p.2.htap"}},
	} {
		n := names.NewTemplate(test.output)
		for _, want := range test.want {
			if got := n.Next(7, &spool.Meta{Exe: "/usr/bin/p"}); got != want {
				t.Errorf("-o %q gives %q, want %q", test.output, got, want)
			}
		}
	}
}

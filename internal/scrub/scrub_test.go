package scrub

import (
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	s := New([]byte("salt"), false)
	for _, kept := range []string{"", "/", "[vdso]", "/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "/lib64/ld-linux-x86-64.so.2"} {
		if got := s.Path(kept); got != kept {
			t.Errorf("%q became %q", kept, got)
		}
	}
	a, b := s.Path("/home/alice/secret/cache.cc"), s.Path("/home/alice/secret/libplan.so.1.2")
	if !strings.HasPrefix(a, "/home/x") || !strings.HasSuffix(a, ".cc") || !strings.HasSuffix(b, ".so.1.2") ||
		strings.Count(a, "/") != 4 {
		t.Errorf("%q, %q", a, b)
	}
	if i := strings.LastIndexByte(a, '/'); a[:i] != b[:i] {
		t.Errorf("files of one folder are in different folders: %q, %q", a, b)
	}
	for _, name := range []string{"alice", "secret", "cache", "plan"} {
		if strings.Contains(a+b, name) {
			t.Errorf("%q, %q reveal %s", a, b, name)
		}
	}
	if got := s.Path("lib"); got == "lib" {
		t.Error("a program's name must not be treated as a folder")
	}
}

func TestPseudonyms(t *testing.T) {
	a, b, c := New([]byte("one"), true), New([]byte("one"), true), New([]byte("two"), true)
	if a.Word("server") != b.Word("server") || a.Word("server") == c.Word("server") ||
		a.Word("server") == a.Word("client") {
		t.Error(a.Word("server"), b.Word("server"), c.Word("server"), a.Word("client"))
	}
	if a.Word("") != "" || a.Function("main") != "main" || a.Function("Cache::grow()") == "Cache::grow()" {
		t.Error(a.Function("main"), a.Function("Cache::grow()"))
	}
	if start := "__libc_start_main@@GLIBC_2.34"; a.Function(start) != start {
		t.Errorf("%s, by which stacks are cut at main, is %s", start, a.Function(start))
	}
}

// TestFunction: functions keep their names, except for paths that compilers put into some names.
func TestFunction(t *testing.T) {
	s := New([]byte("salt"), false)
	for _, kept := range []string{"f", "operator/", "operator/=(A, B)", "ratio<1l, 1000l>", "github.com/a/b.Func",
		"runtime/pprof.Lookup", "a / b"} {
		if got := s.Function(kept); got != kept {
			t.Errorf("%q became %q", kept, got)
		}
	}
	if got := s.Function("(anonymous class at /home/alice/a.cc:3:7)"); strings.Contains(got, "alice") ||
		!strings.HasPrefix(got, "(anonymous class at /home/x") || !strings.HasSuffix(got, ".cc:3:7)") {
		t.Error(got)
	}
}

func TestText(t *testing.T) {
	s := New([]byte("salt"), false)
	s.Word("worker7")
	s.Path("/home/alice/libplan.so")
	if got := s.Text("plugin.so was opened, and /opt/a/plugin.so, not libc.so.6"); strings.Contains(got, "plugin") ||
		!strings.HasSuffix(got, "libc.so.6") ||
		strings.Count(got, s.Path("plugin.so")) != 2 {
		t.Error(got)
	}
	got := s.Text("The file libplan.so of /home/alice/build was not read by worker7: 3 functions have no names.")
	for _, name := range []string{"alice", "plan", "worker7"} {
		if strings.Contains(got, name) {
			t.Errorf("%q reveals %s", got, name)
		}
	}
	if !strings.HasPrefix(got, "The file x") || !strings.HasSuffix(got, ": 3 functions have no names.") {
		t.Error(got)
	}
}

package profile

import (
	"strings"
	"testing"
)

// TestKeepers: a function's name decides, under whichever name the symbol tables have it, and only in its own file.
func TestKeepers(t *testing.T) {
	t.Parallel()
	const libc, loader, program = "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "/usr/bin/a"
	for _, c := range []struct {
		module, function string
		want             bool
	}{
		{libc, "_IO_file_doallocate", true},
		{libc, "__GI__IO_file_doallocate", true},
		{libc, "_IO_wfile_doallocate.part.0", true},
		{libc, "setlocale", true},
		{libc, "__setlocale", true},
		{libc, "setenv@@GLIBC_2.2.5", true},
		{"/lib/libc-2.31.so", "_nl_load_locale_from_archive", true},
		{libc, "", false},
		{libc, "__strdup", false},
		{libc, "__getdelim", false},
		{libc, "fopen", false},
		{libc, "__newlocale", false},
		{libc, "getaddrinfo", false},
		{libc, "iconv_open", false},
		{loader, "_dl_allocate_tls", true},
		{loader, "", true},
		{program, "setlocale", false},
		{program, "_IO_file_doallocate", false},
		{program, "", false},
		{"", "", false},
		{"/usr/lib/libstdc++.so.6.0.30", "std::ios_base::sync_with_stdio", true},
		{"/usr/lib/libstdc++.so.6.0.30", "std::locale::locale", false},
		{program, "std::io::stdio::stdin::{closure#0}", true},
		{program, "std::io::stdio::Stdin::read_line", false},
		{program, "std::rt::lang_start_internal", false},
	} {
		k := keeperOf(c.module)
		if got := k.keeps(c.function); got != c.want {
			t.Errorf("%s of %q keeps what it allocates: %v", c.function, c.module, got)
		}
	}
}

// TestRuntimeList: each name is listed once, below a line that names its files.
func TestRuntimeList(t *testing.T) {
	t.Parallel()
	group, known := "", map[string]bool{}
	for line := range strings.Lines(runtimeText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			var files string
			if group, files, _ = strings.Cut(line, "]"); strings.TrimSpace(files) == "" {
				t.Errorf("%s: no files", line)
			}
			continue
		case group == "" || strings.ContainsAny(line, " \t"):
			t.Errorf("%q: not a function of a group", line)
		}
		if key := group + plainName(line); known[key] {
			t.Errorf("%s] %s: twice", group, line)
		} else {
			known[key] = true
		}
	}
}

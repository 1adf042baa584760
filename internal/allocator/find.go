// Package allocator finds the libraries of allocators that can be put before libc's.
package allocator

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/elfx"
)

// Known are the allocators that have names here.
var Known = []string{"jemalloc", "tcmalloc", "mimalloc"}

// files are their libraries, the usual ones first.
var files = map[string][]string{
	"jemalloc": {"libjemalloc.so.2", "libjemalloc.so", "libjemalloc.so.1"},
	"tcmalloc": {"libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc.so", "libtcmalloc_minimal.so"},
	"mimalloc": {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"},
}

// packages of Debian and Ubuntu have them.
var packages = map[string]string{"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4",
	"mimalloc": "libmimalloc2.0"}

// Find finds the library that a user means: by its path, or by the name of a known allocator, which is looked for where
// the loader does.
func Find(name string) (string, error) {
	path := name
	if !strings.Contains(name, "/") {
		candidates, ok := files[name]
		if !ok {
			candidates = []string{name}
		}
		dirs := libraryDirs("/etc/ld.so.conf")
		if path = findLibrary(candidates, dirs); path == "" {
			if ok {
				return "", fmt.Errorf("%s was not found in %s; install it (on Debian and Ubuntu: apt install %s), "+
					"or give its path", candidates[0], strings.Join(dirs, ", "), packages[name])
			}
			return "", errors.New("known are jemalloc, tcmalloc and mimalloc; for another one give the path of its " +
				"library")
		}
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return "", err
	}
	if strings.ContainsAny(path, ": ") {
		return "", errors.New("a path with colons or blanks cannot be preloaded; make a link to the library elsewhere")
	}
	f, err := elfx.Open(path)
	if err != nil {
		return "", fmt.Errorf("not a library: %w", err)
	}
	return path, f.Close()
}

// findLibrary returns the first of the files that is in one of the folders.
func findLibrary(files, dirs []string) string {
	for _, file := range files {
		for _, dir := range dirs {
			path := filepath.Join(dir, file)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				return path
			}
		}
	}
	return ""
}

// libraryDirs are the folders in which the loader looks for libraries: LD_LIBRARY_PATH, those of its configuration, and
// its own.
func libraryDirs(conf string) []string {
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	dirs = append(dirs, configuredDirs(conf, 0)...)
	dirs = append(dirs, "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
		"/usr/lib")
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		was := seen[dir]
		seen[dir] = true
		return was
	})
}

// configuredDirs reads a configuration of ldconfig: a folder a line, and include PATTERN.
func configuredDirs(conf string, depth int) (dirs []string) {
	f, err := os.Open(conf)
	if err != nil || depth > 5 {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "include":
			for _, pattern := range fields[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(conf), pattern)
				}
				more, _ := filepath.Glob(pattern)
				for _, m := range more {
					dirs = append(dirs, configuredDirs(m, depth+1)...)
				}
			}
		case len(fields) == 1 && filepath.IsAbs(fields[0]):
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}

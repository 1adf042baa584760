// Package namesource says where the names of a file's functions can be had: which package of the distribution has them,
// or which value of DEBUGINFOD_URLS finds them.
package namesource

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/elfx"
)

// System is where to look; the zero value is this machine.
type System struct {
	Root string // before all paths of the system; "" but for tests
}

// Source is where names can be had.
type Source struct {
	Package string // Debian's package with the debug information; "" if the file is not of a package
	Servers string // a value of DEBUGINFOD_URLS; "" if the system is not known
}

// Of returns where the names of a file of a recording can be had. The package is only looked for if this machine has
// the same file, with that build id: the recording may come from another.
func (s System) Of(path string, buildID []byte) Source {
	out := Source{Servers: s.servers()}
	if len(buildID) == 0 || !installed(path) {
		return out
	}
	real, err := filepath.EvalSymlinks(s.Root + path)
	if err != nil || !installed(strings.TrimPrefix(real, s.Root)) {
		return out
	}
	if st, err := os.Stat(real); err != nil || !st.Mode().IsRegular() {
		return out
	}
	f, err := elfx.Open(real)
	if err != nil {
		return out
	}
	defer f.Close()
	if bytes.Equal(f.BuildID(), buildID) {
		out.Package = s.debugPackage(path, strings.TrimPrefix(real, s.Root))
	}
	return out
}

// installed reports whether a file is where packages are installed. A recording may name any file; no other one is
// opened.
func installed(path string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/lib", "/bin/", "/sbin/", "/opt/"}, func(folder string) bool {
		return strings.HasPrefix(path, folder)
	}) && filepath.Clean(path) == path
}

// named are the packages whose debug information is in one with a name of its own.
var named = map[string]string{"libc6": "libc6-dbg"}

// debugPackage returns the package with the debug information of a file that is installed under one of these paths.
func (s System) debugPackage(paths ...string) string {
	lists, _ := filepath.Glob(s.Root + "/var/lib/dpkg/info/*.list")
	var wanted [][]byte
	for _, p := range paths { // /lib may be a link to /usr/lib: packages name either
		p = strings.TrimPrefix(p, "/usr")
		wanted = append(wanted, []byte(p+"\n"), []byte("/usr"+p+"\n"))
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		text = append([]byte("\n"), text...)
		if !slices.ContainsFunc(wanted, func(p []byte) bool {
			return bytes.Contains(text, append([]byte("\n"), p...))
		}) {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
		if other, ok := named[name]; ok {
			return other
		}
		return name + "-dbgsym"
	}
	return ""
}

// servers are the distributions' own debuginfod servers, by their id in os-release.
var servers = map[string]string{
	"debian": "https://debuginfod.debian.net", "ubuntu": "https://debuginfod.ubuntu.com",
	"fedora": "https://debuginfod.fedoraproject.org", "arch": "https://debuginfod.archlinux.org",
	"opensuse": "https://debuginfod.opensuse.org", "suse": "https://debuginfod.opensuse.org",
	"centos": "https://debuginfod.centos.org", "alpine": "https://debuginfod.elfutils.org",
}

func (s System) servers() string {
	f, err := os.Open(s.Root + "/etc/os-release")
	if err != nil {
		return ""
	}
	defer f.Close()
	ids := map[string][]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		key, value, _ := strings.Cut(in.Text(), "=")
		ids[key] = strings.Fields(strings.Trim(value, `"'`))
	}
	for _, id := range append(ids["ID"], ids["ID_LIKE"]...) {
		if url, ok := servers[id]; ok {
			return url
		}
	}
	return ""
}

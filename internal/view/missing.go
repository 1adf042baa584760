package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
)

// missing counts the lines without a function's name, by file.
type missing struct{ lines map[string]int }

// see notes that a line of this file, with this function, was shown.
func (m *missing) see(module, function string) {
	if function != "" || module == "" || module == "[vdso]" {
		return
	}
	if m.lines == nil {
		m.lines = make(map[string]int)
	}
	m.lines[module]++
}

// files returns the files, those with most lines first.
func (m *missing) files() []string {
	return slices.SortedFunc(maps.Keys(m.lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.lines[b], m.lines[a]), cmp.Compare(a, b))
	})
}

// namedFiles is how many files without names are named.
const namedFiles = 3

// names says where the names can be had that are missing above.
func (r *renderer) names() {
	files := r.missing.files()
	if len(files) == 0 || r.NamesOf == nil {
		return
	}
	var bases, packages []string
	servers, others := "", false
	for _, file := range files[:min(len(files), namedFiles)] {
		bases = append(bases, base(file))
		from := r.NamesOf(file, r.buildID(file))
		switch {
		case from.Package == "" && file != r.p.Process.Exe:
			others = true
		case from.Package != "" && !slices.Contains(packages, from.Package):
			packages = append(packages, from.Package)
		}
		if from.Package != "" || file != r.p.Process.Exe { // no server has what the user has built
			servers = from.Servers
		}
	}
	if n := len(files) - namedFiles; n > 0 {
		bases = append(bases, humanize.Plural(uint64(n), "other file"))
	}
	var ways []string
	switch {
	case len(packages) > 0:
		ways = append(ways, "install "+list(packages))
	case others && servers != "":
		ways = append(ways, "install their debug symbols")
	}
	if servers != "" {
		ways = append(ways, "set DEBUGINFOD_URLS="+servers)
	}
	if len(ways) == 0 {
		ways = append(ways, "build with -g and do not strip")
	}
	r.wrap("  ", fmt.Sprintf("no names for functions of %s: %s, then record again", list(bases),
		strings.Join(ways, " or ")), r.faint)
}

// list joins words as in a sentence.
func list(words []string) string {
	if k := len(words) - 1; k > 0 {
		return strings.Join(words[:k], ", ") + " and " + words[k]
	}
	return words[0]
}

func (r *renderer) buildID(module string) []byte {
	for i := range r.p.Modules {
		if r.p.Modules[i].Path == module {
			return r.p.Modules[i].BuildID
		}
	}
	return nil
}

package profile

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/glob"
)

//go:embed runtime.txt
var runtimeText string

// runtimeGroup is the functions that keep what they allocate, of the files whose names match a pattern.
type runtimeGroup struct {
	files []string
	names glob.Set
}

// runtimeGroups reads the list. A test checks what it says.
var runtimeGroups = sync.OnceValue(func() (list []runtimeGroup) {
	for line := range strings.Lines(runtimeText) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			_, files, _ := strings.Cut(line, "]")
			list = append(list, runtimeGroup{files: strings.Fields(files)})
		default:
			list[len(list)-1].names.Add(plainName(line))
		}
	}
	return list
})

// keeper says what a file's functions have to do with the runtime.
type keeper struct {
	groups []*runtimeGroup
	// system: its functions may be among the innermost frames of a runtime's block. Of other files, only those of the
	// language's standard library may.
	system bool
}

func keeperOf(module string) (k keeper) {
	name := filepath.Base(module)
	for i := range runtimeGroups() {
		g := &runtimeGroups()[i]
		for _, p := range g.files {
			if glob.Match(p, name) {
				k.groups = append(k.groups, g)
				k.system = k.system || p != "*"
				break
			}
		}
	}
	return k
}

// keeps reports whether a function keeps what it allocates.
func (k *keeper) keeps(function string) bool {
	name := plainName(function)
	return slices.ContainsFunc(k.groups, func(g *runtimeGroup) bool { return g.names.Match(name) })
}

// RuntimeFunction reports whether a function's name is one of those by which a block may be the runtime's.
func RuntimeFunction(name string) bool {
	name = plainName(name)
	return name != "" && slices.ContainsFunc(runtimeGroups(), func(g runtimeGroup) bool { return g.names.Has(name) })
}

// plainName removes what differs between the names that one function has in several tables of symbols. __GI_ begins
// the names by which libc calls itself.
func plainName(function string) string {
	name := strings.TrimLeft(strings.TrimPrefix(function, "__GI_"), "_")
	if strings.Contains(name, "::") {
		return name
	}
	name, _, _ = strings.Cut(name, "@")
	name, _, _ = strings.Cut(name, ".")
	return name
}

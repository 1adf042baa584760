package profile

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/owncode"
)

// FoldPattern returns a regular expression that matches the frames which texts fold: those of wrappers and, if the
// program has own code, of libraries. Without them, what they allocate is their callers'. "": there are none.
func (p *Profile) FoldPattern() string {
	own := false
	p.Kinds(func(_, _ string, kind owncode.Kind) { own = own || kind == owncode.Own })
	// A name, or a file all of whose functions are folded, stands for them; so the pattern stays short.
	names, files := map[string]bool{}, map[string]bool{}
	add := func(to map[string]bool, name string, fold bool) {
		if before, known := to[name]; !known || before {
			to[name] = fold
		}
	}
	type function struct{ name, file string }
	var all []function
	p.Kinds(func(name, file string, kind owncode.Kind) {
		fold := kind == owncode.Wrapper || kind == owncode.Library && own
		add(names, name, fold)
		add(files, file, fold)
		if fold {
			all = append(all, function{name, file})
		}
	})
	var list []string
	for _, f := range all {
		text := f.file
		if text == "" || !files[text] {
			if text = f.name; !names[text] {
				continue
			}
		}
		if text != "" && utf8.ValidString(text) { // others cannot be in a pattern
			list = append(list, regexp.QuoteMeta(text))
		}
	}
	if list == nil {
		return ""
	}
	slices.Sort(list) // what begins alike is matched together
	return `\A(?:` + strings.Join(slices.Compact(list), "|") + `)\z`
}

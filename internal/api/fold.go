package api

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/profile"
)

// folded returns a pattern that matches the frames which texts fold: those of wrappers and, if the program has own
// code, of libraries. Without them, what they allocate is their callers'. "": there are none.
func (o *opened) folded() string {
	o.foldOnce.Do(func() { o.foldPattern = foldPattern(o.source.Profile) })
	return o.foldPattern
}

func foldPattern(p *profile.Profile) string {
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

// either returns a pattern that matches what one of two does; "" matches nothing.
func either(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(?:" + a + ")|" + b
}

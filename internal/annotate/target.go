package annotate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/spelling"
)

// target is what somebody means by a text: a file, by its clean path, or functions.
type target struct {
	file      string
	line      uint32 // 0: all
	functions map[string]bool
}

// ofLine joins groups by line to those of one line of the file, or of a function.
func (t *target) ofLine(g *query.Group) (query.Group, bool) {
	out, ok := t.ofWhole(g)
	out.Line = g.Line
	return out, ok
}

// ofWhole joins groups by line to the file, or the function.
func (t *target) ofWhole(g *query.Group) (query.Group, bool) {
	out := query.Group{By: query.ByLine, File: query.CleanFile(g.File)}
	if t.functions == nil {
		return out, out.File == t.file && out.File != ""
	}
	out.Function = g.Function
	return out, out.File != "" && t.functions[g.Function]
}

// findTarget finds a file whose path ends with the text, or else functions of that name.
func findTarget(s *query.Source, text string) (*target, error) {
	places := s.Places()
	t := &target{}
	name := text
	if i := strings.LastIndexByte(text, ':'); i > 0 {
		if n, err := strconv.ParseUint(text[i+1:], 10, 32); err == nil && n > 0 {
			name, t.line = text[:i], uint32(n)
		}
	}
	files := filesNamed(places, name)
	switch {
	case len(files) == 1:
		t.file = files[0]
		return t, nil
	case len(files) > 1:
		return nil, fmt.Errorf("%s stands for %d files: %s; write more of the path", name, len(files), some(files))
	}
	t.functions = make(map[string]bool)
	lines := false
	for _, exact := range []bool{true, false} {
		for _, p := range places {
			plain := query.PlainName(p.Function)
			if p.Function == text || !exact && (plain == text || strings.HasSuffix(plain, "::"+text)) {
				t.functions[p.Function] = true
				lines = lines || p.File != ""
			}
		}
		if t.line = 0; lines {
			return t, nil
		}
	}
	if len(t.functions) > 0 {
		return nil, fmt.Errorf("the source lines of %s are not known; was it compiled with -g?", text)
	}
	hint := ""
	if near := nearPlaces(places, name); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, fmt.Errorf("no call stack goes through a source file or a function %q%s", text, hint)
}

// filesNamed are the files whose path, or its last parts, is the name. An absolute path only stands for itself.
func filesNamed(places []query.Place, name string) (list []string) {
	name = path.Clean(name)
	for _, p := range places {
		if p.File == name {
			return []string{name}
		}
		if strings.HasSuffix(p.File, "/"+strings.TrimPrefix(name, "/")) && !path.IsAbs(name) &&
			!slices.Contains(list, p.File) {
			list = append(list, p.File)
		}
	}
	slices.Sort(list)
	return list
}

// some lists the first names.
func some(names []string) string {
	const most = 8
	if n := len(names) - most; n > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

// nearPlaces are the files and functions whose names are nearest to an unknown one.
func nearPlaces(places []query.Place, name string) []string {
	type candidate struct {
		text string
		far  int
	}
	var list []candidate
	seen := make(map[string]bool)
	word := strings.ToLower(path.Base(name))
	for _, p := range places {
		for _, full := range []string{path.Base(p.File), query.PlainName(p.Function)} {
			if full == "" || full == "." || seen[full] || len(full) > 200 {
				continue
			}
			seen[full] = true
			short := strings.ToLower(full[strings.LastIndexByte(full, ':')+1:])
			far := spelling.Distance(word, short)
			if len(word) >= 3 && strings.Contains(short, word) {
				far = min(far, 1)
			}
			if far <= max(2, len(word)/3) {
				list = append(list, candidate{full, far})
			}
		}
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far),
			cmp.Compare(a.text, b.text))
	})
	var near []string
	for _, c := range list[:min(len(list), 3)] {
		near = append(near, c.text)
	}
	return near
}

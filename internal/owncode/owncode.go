// Package owncode says whose code a frame of a call stack is: the user's own, a library's, or a wrapper's around the
// allocator. It only serves to show call stacks: answers are counted from whole ones.
//
// Own code is the main executable, every file with sources below the user's folder, and what the user says is. What
// belongs to standard libraries, language runtimes and wrappers is in lists.txt, which users extend with patterns.
package owncode

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/glob"
)

// Kind says whose code a frame is.
type Kind uint8

// The kinds of code.
const (
	Other   Kind = iota // other people's: neither of the following
	Own                 // the user's
	Library             // a standard library's or a language runtime's
	Wrapper             // a function that only passes a request on to the allocator
)

func (k Kind) String() string { return [...]string{"other", "own", "library", "wrapper"}[k] }

// Frame is what is known of a frame; empty texts are unknown.
type Frame struct {
	Function string // demangled
	Linkage  string // the name in the symbol table, if it differs
	File     string // source file
	Module   string // path of the file that contains the code
}

// Rules are what the user says of code. The zero value says nothing.
type Rules struct {
	Own     []Pattern
	Library []Pattern
	Folder  string // files with sources below it are own; "": not asked
}

// Pattern is a pattern of the user. It matches a frame by function, module or source file.
type Pattern struct{ text string }

// ParsePattern reads a pattern: a function, a module or the path of a source, in which * stands for anything.
func ParsePattern(text string) (Pattern, error) {
	if strings.Trim(text, "*") == "" {
		return Pattern{}, fmt.Errorf("%q matches everything; write a function, a file or a path, in which * stands "+
			"for anything: 'boost::*', 'libQt*', '*/vendor/*'", text)
	}
	return Pattern{text}, nil
}

// ParsePatterns reads patterns.
func ParsePatterns(texts []string) ([]Pattern, error) {
	var list []Pattern
	for _, text := range texts {
		p, err := ParsePattern(text)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (p Pattern) matches(f *Frame, bare string) bool {
	if f.Function != "" && (glob.Match(p.text, f.Function) || glob.Match(p.text, bare)) {
		return true
	}
	if name := filepath.Base(f.Module); f.Module != "" && (glob.Match(p.text, name) || glob.Match(p.text, f.Module) ||
		strings.HasPrefix(name, p.text+".so")) {
		return true
	}
	return f.File != "" && glob.Match(p.text, f.File)
}

// Code knows whose code the frames of one recording are.
type Code struct {
	rules Rules
	main  map[string]bool // the main executables
	// built reports whether a module has sources below Rules.Folder.
	built func(module string) bool
}

// New returns what is known of the code of a recording. mains are its main executables.
func New(rules Rules, mains []string, built func(module string) bool) *Code {
	c := &Code{rules: rules, main: make(map[string]bool), built: built}
	for _, path := range mains {
		if path != "" {
			c.main[strings.TrimSuffix(path, " (deleted)")] = true
		}
	}
	if rules.Folder == "/" {
		c.rules.Folder = ""
	}
	return c
}

// Kind says whose code a frame is.
func (c *Code) Kind(f *Frame) Kind {
	bare := bareName(f.Function)
	for _, p := range c.rules.Own {
		if p.matches(f, bare) {
			return Own
		}
	}
	for _, p := range c.rules.Library {
		if p.matches(f, bare) {
			return Library
		}
	}
	switch {
	case bare != "" && (lists.wrapper.Match(bare) || lists.wrapperRust.Match(bare) && isRust(f)):
		return Wrapper
	case f.File != "" && lists.source.Match(f.File):
		return Library
	case c.below(f.File):
		return Own
	case bare != "" && isLibraryFunction(f, bare):
		return Library
	case f.Module != "" && lists.module.Match(filepath.Base(f.Module)):
		return Library
	case f.File != "" && lists.dependency.Match(f.File):
		return Other
	case f.Module != "" && (c.main[f.Module] || c.rules.Folder != "" && c.built(f.Module)):
		return Own
	}
	return Other
}

// Below reports whether a source is below the user's folder, and not a library's.
func (c *Code) Below(file string) bool { return c.below(file) && !lists.source.Match(file) }

func (c *Code) below(file string) bool {
	rest, ok := strings.CutPrefix(file, c.rules.Folder)
	return ok && c.rules.Folder != "" && strings.HasPrefix(rest, "/") && !lists.dependency.Match(file)
}

// InLibrary reports whether a frame belongs to a standard library, a runtime or a wrapper, whatever the user says.
func InLibrary(f *Frame) bool {
	var c Code
	kind := c.Kind(f)
	return kind == Library || kind == Wrapper
}

// InStandardLibrary reports whether a function belongs to the standard library or the runtime of its language.
func InStandardLibrary(f *Frame) bool { return isLibraryFunction(f, bareName(f.Function)) }

func isLibraryFunction(f *Frame, bare string) bool {
	return lists.library.Match(bare) ||
		lists.libraryRust.Match(bare) && isRust(f) || lists.libraryGo.Match(bare) && isGo(f)
}

// isRust reports whether a function may be Rust's: alloc::x may also be a C++ programmer's namespace.
func isRust(f *Frame) bool {
	switch {
	case f.File != "":
		return strings.HasSuffix(f.File, ".rs")
	case f.Linkage != "":
		return strings.HasPrefix(f.Linkage, "_R") || strings.Contains(f.Linkage, "17h")
	}
	return true
}

func isGo(f *Frame) bool {
	return f.File == "" || strings.HasSuffix(f.File, ".go") || strings.HasSuffix(f.File, ".s") ||
		f.File == "_cgo_gotypes.go"
}

// bareName returns a function's name without arguments, return type and what compilers append.
func bareName(function string) string {
	name, _, _ := strings.Cut(funcname.Bare(function), "@")
	for _, part := range []string{".part.", ".constprop.", ".isra.", ".cold", ".lto_priv.", ".llvm."} {
		if i := strings.Index(name, part); i > 0 {
			name = name[:i]
		}
	}
	return name
}

//go:embed lists.txt
var text string

var lists = mustParse(text)

// allLists are the patterns of lists.txt, by word.
type allLists struct {
	wrapper, wrapperRust, library, libraryRust, libraryGo, module, source, dependency glob.Set
}

func mustParse(text string) *allLists {
	l, err := parse(text)
	if err != nil {
		panic(err)
	}
	return l
}

func parse(text string) (*allLists, error) {
	l := &allLists{}
	words := map[string]*glob.Set{
		"wrapper":    &l.wrapper,
		"wrapper-rs": &l.wrapperRust,
		"library":    &l.library,
		"library-rs": &l.libraryRust,
		"library-go": &l.libraryGo,
		"module":     &l.module,
		"source":     &l.source,
		"dependency": &l.dependency,
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, pattern, _ := strings.Cut(line, " ")
		p, ok := words[word]
		if !ok || pattern == "" {
			return nil, errors.New("lists.txt: cannot read " + line)
		}
		p.Add(pattern)
	}
	return l, nil
}

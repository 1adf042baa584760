// Package scrub gives the names in a recording pseudonyms, so that it can be handed to others: paths, host, arguments, values of the
// environment, threads, marks, and, if that is asked for, functions and variables. Numbers, times, addresses and build ids stay.
//
// A pseudonym is a keyed hash of the name: with the same salt a name has the same one in every recording, and without the salt it cannot be
// told from a list of likely names. Paths keep their form: folders have pseudonyms of their own, so that files of one folder remain
// together, and endings such as .cc stay. What every Linux has is no secret: usual folders, and the C and C++ runtime, by which heaptap
// tells whose a call stack is.
package scrub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"strings"

	"github.com/heaptap/heaptap/internal/profile"
)

// Scrubber gives pseudonyms. It is not safe for concurrent use.
type Scrubber struct {
	salt      []byte
	functions bool
	known     map[string]string // names that have one
}

// New returns a Scrubber. functions says whether functions and static variables are given pseudonyms, too.
func New(salt []byte, functions bool) *Scrubber {
	return &Scrubber{salt: salt, functions: functions, known: make(map[string]string)}
}

// usual are folders and files that tell nothing.
var usual = map[string]bool{"": true, ".": true, "..": true, "usr": true, "lib": true, "lib32": true, "lib64": true, "libexec": true, "bin": true, "sbin": true,
	"local": true, "opt": true, "home": true, "root": true, "tmp": true, "var": true, "proc": true, "self": true, "dev": true, "etc": true, "srv": true,
	"mnt": true, "src": true, "include": true, "build": true, "x86_64-linux-gnu": true, "aarch64-linux-gnu": true, "eh_alloc.cc": true}

// ending is the part of a file's name that stays: what kind of file it is.
var ending = regexp.MustCompile(`(\.so(\.[0-9]+)*|\.(a|c|cc|cpp|cxx|go|h|hh|hpp|htap|hxx|ipp|js|o|py|rs|s|S|tcc|ts))$`)

// pseudonym is what a name becomes.
func (s *Scrubber) pseudonym(name string) string {
	if p, ok := s.known[name]; ok {
		return p
	}
	h := hmac.New(sha256.New, s.salt)
	h.Write([]byte(name))
	p := "x" + hex.EncodeToString(h.Sum(nil)[:6])
	s.known[name] = p
	return p
}

// Word returns a name's pseudonym.
func (s *Scrubber) Word(name string) string {
	if name == "" {
		return ""
	}
	return s.pseudonym(name)
}

// Path returns a path whose parts have pseudonyms.
func (s *Scrubber) Path(name string) string {
	if name == "" || name == "[vdso]" {
		return name
	}
	parts := strings.Split(name, "/")
	for i, part := range parts {
		file := i == len(parts)-1
		switch {
		case usual[part] && !(file && i == 0), file && profile.RuntimeModule(name) && strings.Contains(part, ".so"):
		case file:
			e := ending.FindString(part)
			if stem := strings.TrimSuffix(part, e); stem != "" {
				parts[i] = s.pseudonym(stem) + e
			}
		default:
			parts[i] = s.pseudonym(part)
		}
	}
	return strings.Join(parts, "/")
}

// startup are functions at the roots of call stacks.
var startup = map[string]bool{"main": true, "_start": true, "__libc_start_main": true, "__libc_start_main_impl": true, "__libc_start_call_main": true,
	"start_thread": true, "clone": true, "clone3": true, "__clone": true, "__clone3": true}

// Function returns a function's pseudonym, if functions have some, else its name without the paths that a compiler may have put into it.
func (s *Scrubber) Function(name string) string {
	switch {
	case name == "" || startup[name] || strings.Contains(name, "eh_alloc.cc"): // the C++ runtime's reserve is known by it
		return name
	case s.functions:
		return s.pseudonym(name)
	}
	return s.paths(inFunction, name)
}

// Paths within a text, after a blank, a quotation mark or a bracket, and within the name of a function, where a slash is also an operator, or
// parts packages.
var (
	inText     = regexp.MustCompile(`(^|[\s"'(<=:,])((?:\.{0,2}/|[\w.+-]+/)[^\s"'(){}<>;:,]*)`)
	inFunction = regexp.MustCompile(`([\s"'(<])(\.{0,2}/[^\s"'(){}<>;:,/]+/[^\s"'(){}<>;:,]*)`)
)

func (s *Scrubber) paths(where *regexp.Regexp, text string) string {
	return where.ReplaceAllStringFunc(text, func(m string) string {
		at := where.FindStringSubmatch(m)
		return at[1] + s.Path(at[2])
	})
}

// Text returns a sentence with pseudonyms in the place of paths and libraries, and of whole words that have one.
func (s *Scrubber) Text(text string) string {
	text = s.paths(inText, text)
	return words.ReplaceAllStringFunc(text, func(w string) string {
		if p, ok := s.known[w]; ok && !plain.MatchString(w) {
			return p
		}
		stem := strings.TrimSuffix(w, path.Ext(w))
		if p, ok := s.known[stem]; ok && ending.MatchString(w) {
			return p + path.Ext(w)
		}
		if library.MatchString(w) && !done.MatchString(w) {
			return s.Path(w)
		}
		return w
	})
}

var (
	words = regexp.MustCompile(`[\w.+-]*[\w+]`)
	// library is the name of one, which a sentence may tell of although it is none of the modules.
	library = regexp.MustCompile(`^\w.*\.so(\.[0-9]+)*$`)
	done    = regexp.MustCompile(`^x[0-9a-f]{12}\.so`) // a pseudonym, of a path before
	// plain are words that are as likely those of the sentence: numbers, and short ones.
	plain = regexp.MustCompile(`^([0-9.]+|[a-z]{1,3})$`)
)

// Package scrub replaces the names in a recording by pseudonyms, so that it can be given to others: paths, host,
// arguments, values of the environment, threads, marks and, if requested, functions and variables. Numbers, times,
// addresses and build ids stay.
//
// A pseudonym is a keyed hash of the name: with the same salt, a name has the same pseudonym in every recording;
// without the salt, it cannot be guessed from a list of likely names. Paths keep their form: each folder has its own
// pseudonym, so that files of one folder stay together, and endings such as .cc stay. Names that every Linux system has
// are not secret: usual folders, and the C and C++ runtimes and their functions, by which heaptap classifies call
// stacks.
package scrub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"strings"

	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/profile"
)

// Scrubber makes pseudonyms. It is not safe for concurrent use.
type Scrubber struct {
	salt      []byte
	functions bool
	known     map[string]string // pseudonyms by name
}

// New returns a Scrubber. functions says whether functions and static variables are given pseudonyms, too.
func New(salt []byte, functions bool) *Scrubber {
	return &Scrubber{salt: salt, functions: functions, known: make(map[string]string)}
}

// usual are folders and files that reveal nothing.
var usual = map[string]bool{"": true, ".": true, "..": true, "usr": true, "lib": true, "lib32": true, "lib64": true,
	"libexec": true, "bin": true, "sbin": true,
	"local": true, "opt": true, "home": true, "root": true, "tmp": true, "var": true, "proc": true, "self": true,
	"dev": true, "etc": true, "srv": true, "mnt": true, "src": true, "include": true, "build": true,
	"x86_64-linux-gnu": true, "aarch64-linux-gnu": true, "eh_alloc.cc": true}

// ending matches the part of a file's name that only says what kind of file it is. It stays.
var ending = lazy.Regexp(`(\.so(\.[0-9]+)*|\.(a|c|cc|cpp|cxx|go|h|hh|hpp|htap|hxx|ipp|js|o|py|rs|s|S|tcc|ts))$`)

// pseudonym returns a name's pseudonym.
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
			e := ending().FindString(part)
			if stem := strings.TrimSuffix(part, e); stem != "" {
				parts[i] = s.pseudonym(stem) + e
			}
		default:
			parts[i] = s.pseudonym(part)
		}
	}
	return strings.Join(parts, "/")
}

// Function returns a function's pseudonym, if functions get pseudonyms; else its name without paths that a compiler may
// have put into it.
func (s *Scrubber) Function(name string) string {
	switch {
	case name == "", name == "main", profile.BeforeMain(name):
		return name
	case strings.Contains(name, "eh_alloc.cc"): // the C++ runtime's pool
		return name
	case s.functions && profile.RuntimeFunction(name): // else what the runtime keeps would count as leaked
		return name
	case s.functions:
		return s.pseudonym(name)
	}
	return s.paths(inFunction(), name)
}

// Paths within a text, after a blank, a quotation mark or a bracket; and within the name of a function, where a slash
// may also be an operator or separate packages.
var (
	inText     = lazy.Regexp(`(^|[\s"'(<=:,])((?:\.{0,2}/|[\w.+-]+/)[^\s"'(){}<>;:,]*)`)
	inFunction = lazy.Regexp(`([\s"'(<])(\.{0,2}/[^\s"'(){}<>;:,/]+/[^\s"'(){}<>;:,]*)`)
)

func (s *Scrubber) paths(where *regexp.Regexp, text string) string {
	return where.ReplaceAllStringFunc(text, func(m string) string {
		at := where.FindStringSubmatch(m)
		return at[1] + s.Path(at[2])
	})
}

// Text returns a sentence in which paths, libraries, and whole words that have a pseudonym are replaced.
func (s *Scrubber) Text(text string) string {
	text = s.paths(inText(), text)
	return words().ReplaceAllStringFunc(text, func(w string) string {
		if p, ok := s.known[w]; ok && !plain().MatchString(w) {
			return p
		}
		stem := strings.TrimSuffix(w, path.Ext(w))
		if p, ok := s.known[stem]; ok && ending().MatchString(w) {
			return p + path.Ext(w)
		}
		if library().MatchString(w) && !done().MatchString(w) {
			return s.Path(w)
		}
		return w
	})
}

var (
	words = lazy.Regexp(`[\w.+-]*[\w+]`)
	// library matches names of libraries: a sentence may mention one that is not a module of the recording.
	library = lazy.Regexp(`^\w.*\.so(\.[0-9]+)*$`)
	done    = lazy.Regexp(`^x[0-9a-f]{12}\.so`) // the pseudonym of an earlier path
	// plain matches words that stay in sentences: numbers and short words.
	plain = lazy.Regexp(`^([0-9.]+|[a-z]{1,3})$`)
)

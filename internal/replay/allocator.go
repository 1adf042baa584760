package replay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/allocator"
)

// Allocator is what a recording is played against.
type Allocator struct {
	Name    string   // as the user wrote it
	Library string   // to be preloaded; "": libc's own
	Options []string // NAME=VALUE, for its environment
}

// glibc stands for the C library's own allocator.
const glibc = "glibc"

// DefaultAllocators are those that are tried if the user names none; missing ones are left out.
var DefaultAllocators = []string{glibc, "jemalloc", "mimalloc", "tcmalloc"}

// SplitAllocators divides a list at its commas, but not within the value of an option: MALLOC_CONF=narenas:4,percpu:on.
func SplitAllocators(written string) (list []string) {
	for _, part := range strings.Split(written, ",") {
		name, _, _ := strings.Cut(part, ":")
		name = strings.TrimSpace(name)
		begins := slices.Contains(DefaultAllocators, name) || strings.Contains(name, "/")
		if n := len(list) - 1; n >= 0 && !begins && strings.Contains(list[n], "=") {
			list[n] += "," + part
			continue
		}
		list = append(list, strings.TrimSpace(part))
	}
	return list
}

// ParseAllocator reads an allocator as the user writes it: NAME or the path of a library, and then options, each after
// a colon: glibc:MALLOC_ARENA_MAX=2.
func ParseAllocator(written string) (Allocator, error) {
	name, options := written, []string(nil)
	// A value may have colons of its own (jemalloc's): an option begins where a name and an equal sign follow a colon.
	for i := len(written) - 1; i > 0; i-- {
		if written[i] != ':' || !isOption(written[i+1:]) {
			continue
		}
		options = append(options, written[i+1:])
		written = written[:i]
	}
	name = written
	slices.Reverse(options)
	a := Allocator{Name: strings.Join(append([]string{name}, options...), ":"), Options: options}
	for _, o := range options {
		if n, _, _ := strings.Cut(o, "="); n == "LD_PRELOAD" || n == "LD_LIBRARY_PATH" || n == "LD_AUDIT" {
			return a, fmt.Errorf("%s: %s is not an allocator's option", a.Name, n)
		}
	}
	if name == glibc || name == "libc" {
		return a, nil
	}
	var err error
	if a.Library, err = allocator.Find(name); err != nil {
		return a, fmt.Errorf("%s: %w", name, err)
	}
	return a, nil
}

// isOption says whether a text begins as NAME=.
func isOption(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return false
	}
	for _, c := range name {
		if c != '_' && c != '.' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// cleared are the beginnings of variables that the player does not inherit.
var cleared = []string{"LD_PRELOAD=", "LD_AUDIT=", "LD_DEBUG", "LD_PROFILE", "MALLOC_", "GLIBC_TUNABLES=", "MIMALLOC_",
	"TCMALLOC_", "JE_MALLOC_CONF=", "_RJEM_MALLOC_CONF=", "HEAPTAP_", "HEAPPROFILE=", "HEAPCHECK="}

// environment is that of the player: the user's, without what changes allocators, and the allocator's options.
func (a Allocator) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(cleared, func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
	if a.Library != "" {
		env = append(env, "LD_PRELOAD="+a.Library)
	}
	return append(env, a.Options...)
}

// check says whether the player's malloc was the allocator's.
func (a Allocator) check(o *outcome) error {
	in := text(o.Library[:])
	isLibc := strings.HasPrefix(filepath.Base(in), "libc.") || strings.HasPrefix(filepath.Base(in), "libc-")
	switch {
	case a.Library == "" && !isLibc:
		return a.errorf("malloc is that of %s", in)
	case a.Library != "" && isLibc:
		return a.errorf("%s has no malloc of its own: libc's was used", a.Library)
	}
	return nil
}

// FailedError says that an allocator could not be measured.
type FailedError struct {
	Allocator string
	Err       error
}

func (e *FailedError) Error() string { return e.Allocator + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Err }

func (a Allocator) errorf(format string, args ...any) error {
	return &FailedError{a.Name, fmt.Errorf(format, args...)}
}

func isFailed(err error) bool {
	var f *FailedError
	return errors.As(err, &f)
}

package symbolize

import (
	"strings"
	"sync"
	"time"

	"github.com/ianlancetaylor/demangle"

	"github.com/heaptap/heaptap/internal/lazy"
)

// Limits on names. A name longer than maxMangled is not demangled; one that would become longer than 1<<maxShift is
// cut.
const (
	maxMangled = 1 << 13
	maxShift   = 15
	maxCached  = 1 << 16
	// A forged name may take a second, and a forged file may have a million of them. Real ones take microseconds.
	maxDemangling = 10 * time.Second
)

// demangler turns names of the symbol table into source names, and caches them: stacks share functions.
type demangler struct {
	mu    sync.Mutex
	known map[string]string
	spent time.Duration
}

func newDemangler() *demangler { return &demangler{known: map[string]string{}} }

// clone matches the suffix of a function that the compiler split or specialised.
var clone = lazy.Regexp(
	`(\.(part|isra|constprop|cold|lto_priv|llvm|localalias|clone|warm|hot|unlikely|startup|exit)(\.[0-9]+)?)+$|\.cold$`)

// demangle returns the name as written in the source, and the linker's name if it differs, else "".
func (d *demangler) demangle(name string) (function, linkage string) {
	d.mu.Lock()
	f, ok := d.known[name]
	tired := d.spent > maxDemangling
	d.mu.Unlock()
	if !ok && tired {
		return name, ""
	}
	if !ok {
		start := time.Now()
		f = plain(name)
		d.mu.Lock()
		d.spent += time.Since(start)
		if len(d.known) >= maxCached {
			clear(d.known)
		}
		d.known[name] = f
		d.mu.Unlock()
	}
	if f == name {
		return name, ""
	}
	return f, name
}

// plain demangles a name. Whatever is wrong with it, it returns a name.
func plain(name string) (result string) {
	result = name
	if len(name) > maxMangled {
		return name
	}
	defer func() {
		if recover() != nil {
			result = name
		}
	}()
	base := name
	if strings.IndexByte(name, '.') > 0 {
		base = clone().ReplaceAllString(name, "")
	}
	if base == "" {
		return name
	}
	if strings.HasPrefix(base, "_R") {
		prepared := emptyIdentifiers(base)
		if result = demangle.Filter(prepared, demangle.MaxLength(maxShift)); result == prepared {
			return base
		}
		return strings.TrimSuffix(constructors.Replace(result), "::")
	}
	name = demangle.Filter(legacyRust(base), demangle.NoClones, demangle.MaxLength(maxShift))
	return strings.ReplaceAll(name, ", >", ">") // an empty pack at the end of a list
}

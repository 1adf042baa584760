package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The agent's variables.
const (
	preloadVariable    = "LD_PRELOAD"
	runVariable        = "HEAPTAP_RUN"         // the run's folder: there the agent makes its spools
	spillDirVariable   = "HEAPTAP_SPILL_DIR"   // where it appends what does not fit into the pool
	runPIDVariable     = "HEAPTAP_RUN_PID"     // the process of heaptap run, whose own child is the main program
	spillLimitVariable = "HEAPTAP_SPILL_LIMIT" // how many bytes of that it may append
	heldVariable       = "HEAPTAP_RUN_PRELOAD" // what LD_PRELOAD was: see DropPreload
	filtersVariable    = "HEAPTAP_RUN_FILTERS" // the seccomp filters that a process has inherited: see filters
	changesVariable    = "HEAPTAP_RUN_CHANGES" // what else the run has changed of these variables: see Undo
)

// FreeStacksVariable set to 1 has the agent record deallocations with their own call stacks.
const FreeStacksVariable = "HEAPTAP_FREE_STACKS"

// DropPreload executes this program anew without LD_PRELOAD, if that has loaded something into it: what the user has
// preloaded is meant for the target, and a recorder must not be recorded, or ended by a library that does not find what
// it needs. It does nothing in a statically linked program.
func DropPreload() {
	const atBase = 7 // where the loader is
	if os.Getenv(preloadVariable) == "" || os.Getenv(heldVariable) != "" || auxiliary(atBase) == 0 {
		return
	}
	// If that fails, what is loaded does not matter that much.
	_ = syscall.Exec("/proc/self/exe", os.Args, renamed(os.Environ(), preloadVariable, heldVariable))
}

// givenEnv is the environment in which this program was started.
func givenEnv() []string {
	if os.Getenv(heldVariable) == "" {
		return os.Environ()
	}
	return renamed(os.Environ(), heldVariable, preloadVariable)
}

// renamed returns env with a variable under another name, in its place.
func renamed(env []string, from, to string) []string {
	env = slices.Clone(env)
	for i, e := range env {
		if value, ok := strings.CutPrefix(e, from+"="); ok {
			env[i] = to + "=" + value
		}
	}
	return env
}

// targetEnv is the environment of the target: exactly the given one, and what the agent needs.
func targetEnv(env []string, preload, allocator, runDir, spillDir string, spillLimit int64) []string {
	env = set(env, preloadVariable, func(old string) string { return joinPreload(preload, allocator, old) })
	env = setTo(env, runVariable, runDir)
	env = setTo(env, spillDirVariable, spillDir)
	return setTo(env, spillLimitVariable, strconv.FormatInt(spillLimit, 10))
}

func setTo(env []string, name, value string) []string {
	return set(env, name, func(string) string { return value })
}

// set returns env with a variable changed, in its place if it is there.
func set(env []string, name string, value func(old string) string) []string {
	out := make([]string, 0, len(env)+4)
	found := false
	for _, e := range env {
		if old, ok := strings.CutPrefix(e, name+"="); ok {
			if found {
				continue // libc takes the first one
			}
			found = true
			e = name + "=" + value(old)
		}
		out = append(out, e)
	}
	if !found {
		out = append(out, name+"="+value(""))
	}
	return out
}

// joinPreload puts our library before those that were there. An agent of an outer heaptap run makes room: two agents in
// one process would both record. An allocator stands between them: the agent calls it, and what comes later does not
// hide it.
func joinPreload(ours, allocator, old string) string {
	list := []string{ours}
	if allocator != "" {
		list = append(list, allocator)
	}
	for _, lib := range strings.FieldsFunc(old, func(r rune) bool { return r == ':' || r == ' ' }) {
		if !isAgent(lib) && lib != allocator {
			list = append(list, lib)
		}
	}
	return strings.Join(list, ":")
}

// withoutPreload is an environment in which nothing is preloaded.
func withoutPreload(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, preloadVariable+"=")
	})
}

func isAgent(lib string) bool {
	return lib != "" && filepath.Base(lib) == agentName && strings.Contains(lib, "/"+agentFolderPrefix)
}

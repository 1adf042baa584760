package launch

import (
	"net/url"
	"os"
	"slices"
	"strings"
)

// A heaptap run within another one is a run of its own: what the flags of the outer one ask of its agents is not meant
// for it. What the environment says of both is.

// Undo gives this process's environment the variables of heaptap's that it would have without an outer heaptap run.
// Those that somebody in between has changed stay as they are.
func Undo() {
	for change := range strings.SplitSeq(os.Getenv(changesVariable), ",") {
		name, values, _ := strings.Cut(change, ":")
		now, before, was := strings.Cut(values, ":")
		now, err := url.QueryUnescape(now)
		if !strings.HasPrefix(name, agentPrefix) || err != nil || os.Getenv(name) != now {
			continue
		}
		os.Unsetenv(name)
		if before, err := url.QueryUnescape(before); was && err == nil {
			os.Setenv(name, before)
		}
	}
	os.Unsetenv(changesVariable)
}

// agentPrefix begins the names of heaptap's variables.
const agentPrefix = "HEAPTAP_"

// withChanges adds to env how heaptap's variables differ from those before, for Undo: NAME:VALUE:BEFORE, or NAME:VALUE
// if there was none.
func withChanges(env, before []string) []string {
	var list []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, agentPrefix) || slices.Contains(before, e) {
			continue
		}
		change := name + ":" + url.QueryEscape(value)
		if i := slices.IndexFunc(before, func(b string) bool { return strings.HasPrefix(b, name+"=") }); i >= 0 {
			change += ":" + url.QueryEscape(before[i][len(name)+1:])
		}
		list = append(list, change)
	}
	return setTo(env, changesVariable, strings.Join(list, ","))
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/flagfile"
	"github.com/heaptap/heaptap/internal/launch"
)

// elsewhere is a value of a flag of heaptap run that comes from the environment or a file.
type elsewhere struct {
	value string // as a user writes it; lists with commas
	// Whether the agent alone, with plain LD_PRELOAD, obeys the variable. If so, it rejects the value wrong, if that is
	// given. Otherwise it says that only heaptap run does it. It says nothing of those about how recordings are shown.
	alone bool
	wrong string
}

// settings has each flag of heaptap run except --config and --print-config.
var settings = map[string]elsewhere{
	"mode": {"sampled", true, "fast"}, "sample": {"64KiB", true, "some"}, "sample-calls": {"1k", true, "1x"},
	"stack-min": {"1KiB", true, "big"}, "stack": {"enter-exit", true, "guess"},
	"time-calls": {"true", true, "maybe"}, "start": {"off", true, "later"}, "start-after": {"500ms", true, "soon"},
	"stop-after": {"20000", true, "never"}, "free-stacks": {"true", true, "yes please"},
	"children": {"cc1*", true, ""}, "exe": {"true", true, ""}, "ranks": {"0,4-7", true, "first"},
	"spill-limit": {"64M", true, "much"}, "output": {"x.htap", false, ""}, "quiet": {"true", false, ""},
	"top": {"3", false, ""}, "log": {"events", false, ""}, "export": {"pprof,folded", false, ""},
	"scrub": {"true", false, ""}, "scrub-functions": {"true", false, ""}, "salt": {"x", false, ""},
	"keep": {"10m", false, ""}, "own": {"main*", true, ""}, "library": {"boost::*,libQt*", true, ""},
	"max-size": {"1G", false, ""}, "max-depth": {"7", false, ""}, "addresses": {"true", false, ""},
	"residency": {"true", false, ""},
	"monitor":   {"limit:bytes=1M", false, ""}, "allocator": {"jemalloc", false, ""}, "min-events": {"10", false, ""},
	"mark-every": {"10s", false, ""}, "mark-on": {"SIGUSR1", false, ""},
	"mark-when": {"rss>2GiB,live>1GiB", false, ""}, "check": {"true", false, ""}, "output-mode": {"640", false, ""},
	"require": {"true", false, ""}, "max-peak": {"1M", false, ""}, "max-own-peak": {"1M", false, ""},
	"max-leaked": {"0", false, ""}, "max-leaked-blocks": {"0", false, ""}, "max-allocations": {"10", false, ""},
	"max-bytes": {"1M", false, ""}, "max-temporary": {"5", false, ""}, "max-temporary-bytes": {"1M", false, ""},
	"no-growth": {"true", false, ""}, "no-mismatches": {"true", false, ""}, "baseline": {"b.htap", false, ""},
	"tolerance": {"3%", false, ""}, "stack-tolerance": {"4%", false, ""}, "compare": {"peak", false, ""},
	"suppressions": {"a.supp", false, ""}, "runtime": {"true", false, ""}, "allow-lost": {"true", false, ""},
	"allow-empty": {"true", false, ""}, "process": {"test_*", false, ""}, "all": {"true", false, ""},
	"single": {"true", false, ""}, "broad": {"true", false, ""}, "allow-unmatched": {"true", false, ""},
	"strict-suppressions": {"true", false, ""}, "format": {"json", false, ""}, "from": {"10%", false, ""},
	"to": {"20%", false, ""}, "thread": {"main", false, ""}, "region": {"load", false, ""},
	"freed-by": {"main", false, ""},
	"module":   {"libc", false, ""}, "size": {"..16", false, ""}, "old-size": {"..16", false, ""},
	"lifetime": {"..1ms", false, ""},
	"focus":    {"a", false, ""}, "ignore": {"b", false, ""}, "hide": {"c", false, ""},
}

// eachFlag calls f with each flag of heaptap run that may come from elsewhere.
func eachFlag(t *testing.T, f func(flag *pflag.Flag, e elsewhere)) {
	t.Helper()
	seen := 0
	newRunCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		if !settable(flag) {
			return
		}
		e, ok := settings[flag.Name]
		if !ok {
			t.Errorf("--%s: settings lacks a value for it", flag.Name)
			return
		}
		seen++
		f(flag, e)
	})
	if seen != len(settings) {
		t.Errorf("settings has %d flags, heaptap run %d of them", len(settings), seen)
	}
}

// loaded returns the command heaptap run after it has read args, the environment and a file.
func loaded(t *testing.T, file string, args ...string) *cobra.Command {
	t.Helper()
	cmd := newRunCommand()
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := (&configFlags{file: file}).load(cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func given(cmd *cobra.Command, name string) string {
	flag := cmd.Flags().Lookup(name)
	return fmt.Sprint(flag.Changed, " ", flag.Value)
}

// TestFlagsFromElsewhere: every flag of heaptap run means the same as a flag, as a variable and in a file, and what
// --print-config prints is what --config takes.
func TestFlagsFromElsewhere(t *testing.T) {
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "HEAPTAP_") {
			t.Setenv(name, "")
		}
	}
	var all []string
	eachFlag(t, func(flag *pflag.Flag, e elsewhere) {
		arg := "--" + flag.Name + "=" + e.value
		all = append(all, arg)
		want := given(loaded(t, "", arg), flag.Name)
		t.Setenv(flagfile.Variable(flag.Name), e.value)
		if got := given(loaded(t, ""), flag.Name); got != want {
			t.Errorf("%s=%s: %s, want %s", flagfile.Variable(flag.Name), e.value, got, want)
		}
		t.Setenv(flagfile.Variable(flag.Name), "")
	})
	print := func(cmd *cobra.Command) string {
		var b bytes.Buffer
		if err := (&configFlags{}).write(&b, cmd.Flags()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	flags := loaded(t, "", all...)
	file := filepath.Join(t.TempDir(), "run.toml")
	if err := os.WriteFile(file, []byte(print(flags)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEAPTAP_CONFIG", file)
	again := loaded(t, "")
	eachFlag(t, func(flag *pflag.Flag, _ elsewhere) {
		if got, want := given(again, flag.Name), given(flags, flag.Name); got != want {
			t.Errorf("%s in a file: %s, want %s", flag.Name, got, want)
		}
	})
	if a, b := print(flags), print(again); a != b {
		t.Errorf("--print-config:\n%s\nand from that file:\n%s", a, b)
	}
}

// TestVariablesAlone gives each variable to a program with plain LD_PRELOAD: the agent obeys it, or says in one line
// that it does not.
func TestVariablesAlone(t *testing.T) {
	dir := t.TempDir()
	library := filepath.Join(dir, "libheaptap.so")
	if err := launch.WriteAgent(library); err != nil {
		t.Fatal(err)
	}
	said := func(variables ...string) string {
		cmd := exec.Command("/bin/true")
		cmd.Env = append(slices.DeleteFunc(os.Environ(),
			func(e string) bool { return strings.HasPrefix(e, "HEAPTAP_") }),
			append(variables, "LD_PRELOAD="+library, "HEAPTAP_DIR="+dir)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", variables, err, out)
		}
		return string(out)
	}
	same := func(variable, value, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s=%s: %q, want %q", variable, value, got, want)
		}
	}
	refusal := func(list ...string) string {
		return "heaptap: " + strings.Join(list, ", ") + ": only heaptap run does that; ignored\n"
	}
	var all []string
	eachFlag(t, func(flag *pflag.Flag, e elsewhere) {
		v := flagfile.Variable(flag.Name)
		same(v, "", said(v+"="), "")
		if !e.alone {
			all = append(all, v+"="+e.value)
			same(v, e.value, said(v+"="+e.value), refusal(v))
			return
		}
		same(v, e.value, said(v+"="+e.value), "")
		if e.wrong != "" {
			got := said(v + "=" + e.wrong)
			if !strings.HasPrefix(got, "heaptap: "+v+"="+e.wrong+": must be ") ||
				!strings.HasSuffix(got, "; ignored\n") || strings.Count(got, "\n") != 1 {
				t.Errorf("%s=%s: %q", v, e.wrong, got)
			}
		}
	})
	same("HEAPTAP_CONFIG", "x", said("HEAPTAP_CONFIG=x"), refusal("HEAPTAP_CONFIG"))
	if got := said(all...); strings.Count(got, "\n") != 1 || strings.Count(got, "HEAPTAP_") != len(all) ||
		!strings.HasSuffix(got, "; ignored\n") {
		t.Errorf("all at once: %q", got)
	}
}

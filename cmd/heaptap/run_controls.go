package main

import (
	"fmt"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/record/watch"
	"github.com/heaptap/heaptap/internal/spelling"
)

// controlFlags are run's flags that say which programs are recorded, and when marks are set.
type controlFlags struct {
	markEvery            time.Duration
	markOn, markWhen     []string
	children, exe, ranks string
	minEvents            string
	allocator            string
}

func (c *controlFlags) add(f *pflag.FlagSet) {
	f.DurationVar(&c.markEvery, "mark-every", 0, "set a mark each time that this `TIME` has passed, as 10s (heaptap "+
		"help controls)")
	f.StringSliceVar(&c.markOn, "mark-on", nil, "set a mark when heaptap run, or its recorder, gets this `SIGNAL`, "+
		"as SIGUSR1; COMMAND does not get it then; may be repeated")
	f.StringSliceVar(&c.markWhen, "mark-when", nil,
		"set a mark each time that this `CONDITION` becomes true, as 'rss>2GiB', 'live>1GiB' or 'system-free<5%'; "+
			"may be repeated")
	f.StringVar(&c.children, "children", "all", "record these of the programs that COMMAND executes: `all`, none, "+
		"or those whose name matches a pattern with * and ?")
	f.StringVar(&c.exe, "exe", "", "record only programs whose executable matches `PATTERN`: its name, or its path "+
		"if there is a / in it")
	f.StringVar(&c.ranks, "ranks", "", "of an MPI job, record only processes of these `RANKS`, as 0,4-7")
	f.StringVar(&c.minEvents, "min-events", "", "keep no recording of a child that has fewer than `N` events")
	f.StringVar(&c.allocator, "allocator", "", "run COMMAND with this allocator: jemalloc, tcmalloc, mimalloc, or "+
		"the path of a `LIBRARY`")
}

// apply puts the flags into what a run is to know.
func (c *controlFlags) apply(cmd *cobra.Command, config *launch.Config) error {
	wrong := func(flag string, format string, args ...any) error {
		return usagef("run: --%s: %w", flag, fmt.Errorf(format, args...))
	}
	if config.MarkEvery = c.markEvery; c.markEvery < 0 || c.markEvery > 0 && c.markEvery < time.Millisecond {
		return wrong("mark-every", "%v: must be at least 1ms", c.markEvery)
	}
	for _, name := range c.markOn {
		sig, err := markSignal(name)
		if err != nil {
			return wrong("mark-on", "%w", err)
		}
		config.MarkOn = append(config.MarkOn, sig)
	}
	for _, text := range c.markWhen {
		if _, err := parseCondition(text); err != nil {
			return wrong("mark-when", "%w", err)
		}
	}
	config.MarkWhen = c.markWhen
	var chosen []string
	choose := func(flag, variable, value, all string, check func(string) error) error {
		if value == all {
			if cmd.Flags().Changed(flag) {
				config.Agent = append(config.Agent, variable+"=") // whatever the environment says
			}
			return nil
		}
		if err := check(value); err != nil {
			return wrong(flag, "%w", err)
		}
		chosen = append(chosen, fmt.Sprintf("--%s %s", flag, value))
		config.Agent = append(config.Agent, variable+"="+value)
		return nil
	}
	if err := choose("children", "HEAPTAP_CHILDREN", c.children, "all", checkPattern); err != nil {
		return err
	}
	if err := choose("exe", "HEAPTAP_EXE", c.exe, "", checkPattern); err != nil {
		return err
	}
	if err := choose("ranks", "HEAPTAP_RANKS", c.ranks, "", launch.CheckRanks); err != nil {
		return err
	}
	config.Chosen, config.Ranks = strings.Join(chosen, ", "), c.ranks
	if c.minEvents != "" {
		n, err := humanize.ParseCount(c.minEvents)
		if err != nil {
			return wrong("min-events", "%w", err)
		}
		config.MinEvents = uint64(n)
	}
	if c.allocator != "" {
		var err error
		if config.Allocator, err = launch.FindAllocator(c.allocator); err != nil {
			return &launch.StatusError{Status: launch.StatusFailed, Err: fmt.Errorf("run: %w", err)}
		}
	}
	return nil
}

func checkPattern(text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.ContainsAny(text, "[]\\") {
		return fmt.Errorf("%q is not a pattern; write a name with * and ?", text)
	}
	return nil
}

// markSignals are the signals that nobody else needs.
var markSignals = []syscall.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGALRM, unix.SIGVTALRM, unix.SIGWINCH,
	unix.SIGIO, unix.SIGPWR}

func markSignal(name string) (syscall.Signal, error) {
	word := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	var known []string
	for _, sig := range markSignals {
		if unix.SignalName(sig) == word {
			return sig, nil
		}
		known = append(known, unix.SignalName(sig))
	}
	return 0, fmt.Errorf("%q is not a signal for marks; known are %s", name, strings.Join(known, ", "))
}

// conditionMeasures are what --mark-when takes.
var conditionMeasures = []struct {
	name    string
	measure watch.Measure
}{{"rss", watch.RSS}, {"virt", watch.Virtual}, {"system-free", watch.SystemFree}, {"live", watch.Live},
	{"allocations", watch.Allocations}, {"stack", watch.StackDepth}}

// parseCondition reads a condition: rss>2GiB, allocations>1M, system-free<5%.
func parseCondition(text string) (watch.Condition, error) {
	c := watch.Condition{Text: strings.ReplaceAll(text, " ", "")}
	i := strings.IndexAny(c.Text, "<>")
	if i < 0 {
		return c, fmt.Errorf("%q is not a condition (for example rss>2GiB, live>1GiB, allocations>1M or "+
			"system-free<5%%)", text)
	}
	name, limit := c.Text[:i], c.Text[i+1:]
	c.Below = c.Text[i] == '<'
	var names []string
	found := false
	for _, m := range conditionMeasures {
		names = append(names, m.name)
		if m.name == name {
			c.Measure, found = m.measure, true
		}
	}
	if !found {
		return c, fmt.Errorf("%q: known are %s%s", name, strings.Join(names, ", "), spelling.DidYouMean(name, names))
	}
	var n int64
	var err error
	switch {
	case c.Measure == watch.Allocations:
		n, err = humanize.ParseCount(limit)
	case strings.HasSuffix(limit, "%"):
		if c.Share, err = humanize.ParseShare(limit); err == nil && (c.Share <= 0 || c.Share > 1) {
			err = fmt.Errorf("%q: a share of the machine's memory is above 0%%, up to 100%%", limit)
		}
	default:
		n, err = humanize.ParseSize(limit)
	}
	if err == nil && n == 0 && c.Share == 0 && c.Below {
		err = fmt.Errorf("%q is never true", text)
	}
	c.Limit = uint64(n)
	return c, err
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/allocator"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/record/watch"
)

// controlFlags are the flags of heaptap run that say which programs are recorded, and when marks are set.
type controlFlags struct {
	markEvery            time.Duration
	markOn, markWhen     []string
	children, exe, ranks string
	minEvents            string
	allocator            string
}

func (c *controlFlags) add(f *pflag.FlagSet) {
	f.DurationVar(&c.markEvery, "mark-every", 0, "set a mark each time that this `TIME` has passed, such as 10s "+
		"(heaptap help controls)")
	f.StringSliceVar(&c.markOn, "mark-on", nil, "set a mark when heaptap run or its recorder gets this `SIGNAL`, "+
		"such as SIGUSR1; COMMAND does not get it then; may be repeated")
	f.StringSliceVar(&c.markWhen, "mark-when", nil,
		"set a mark each time that this `CONDITION` becomes true, such as 'rss>2GiB', 'live>1GiB' or "+
			"'system-free<5%'; may be repeated")
	f.StringVar(&c.children, "children", "all", "of the programs that COMMAND executes, record `all`, none, or "+
		"those whose name matches a pattern with * and ?")
	f.StringVar(&c.exe, "exe", "", "record only programs whose executable matches `PATTERN`: its name, or its path "+
		"if the pattern has a /")
	f.StringVar(&c.ranks, "ranks", "", "record only these `RANKS` of an MPI job, such as 0,4-7")
	f.StringVar(&c.minEvents, "min-events", "", "keep no recording of a child with fewer than `N` events")
	f.StringVar(&c.allocator, "allocator", "", "run COMMAND with this allocator: jemalloc, tcmalloc, mimalloc, or "+
		"the path of a `LIBRARY`")
}

// apply checks the flags and puts them into the configuration of a run.
func (c *controlFlags) apply(cmd *cobra.Command, config *launch.Config) error {
	wrong := func(flag string, format string, args ...any) error {
		return usagef("run: --%s: %w", flag, fmt.Errorf(format, args...))
	}
	if config.MarkEvery = c.markEvery; c.markEvery < 0 || c.markEvery > 0 && c.markEvery < time.Millisecond {
		return wrong("mark-every", "%v: must be at least 1ms", c.markEvery)
	}
	for _, name := range c.markOn {
		sig, err := launch.MarkSignal(name)
		if err != nil {
			return wrong("mark-on", "%w", err)
		}
		config.MarkOn = append(config.MarkOn, sig)
	}
	for _, text := range c.markWhen {
		if _, err := watch.ParseCondition(text); err != nil {
			return wrong("mark-when", "%w", err)
		}
	}
	config.MarkWhen = c.markWhen
	var chosen []string
	choose := func(flag, variable, value, all string, check func(string) error) error {
		if value == all {
			if cmd.Flags().Changed(flag) {
				config.Agent = append(config.Agent, variable+"=") // overrides the environment
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
	if err := choose("children", "HEAPTAP_CHILDREN", c.children, "all", launch.CheckPattern); err != nil {
		return err
	}
	if err := choose("exe", "HEAPTAP_EXE", c.exe, "", launch.CheckPattern); err != nil {
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
		if config.Allocator, err = allocator.Find(c.allocator); err != nil {
			return &launch.StatusError{Status: launch.StatusFailed,
				Err: fmt.Errorf("run: --allocator %s: %w", c.allocator, err)}
		}
	}
	return nil
}

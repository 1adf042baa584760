package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/humanize"
)

// modeFlags are run's flags that say what the agent records.
type modeFlags struct {
	mode, sample, sampleCalls, stackMin string
	start, startAfter, stopAfter        string
	stack                               string
	timeCalls                           bool
	maxDepth                            int
}

func (m *modeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&m.mode, "mode", "exact", "record `MODE`: exact, every event with its call stack; sampled, "+
		"allocations chosen at random; count, only how many and how large; off, nothing until told (heaptap help modes)")
	f.StringVar(&m.sample, "sample", "512KiB", "with --mode sampled: one sample for each `SIZE` allocated, on average")
	f.StringVar(&m.sampleCalls, "sample-calls", "",
		"with --mode sampled: instead, one sample for each `N` allocations, on average")
	f.StringVar(&m.stackMin, "stack-min", "", "record call stacks only of allocations of at least `SIZE`; the "+
		"others count as one")
	f.StringVar(&m.stack, "stack", "unwind", "find call stacks by `WAY`: unwind; enter-exit, from what functions "+
		"compiled with -finstrument-functions tell, without unwinding")
	f.IntVar(&m.maxDepth, "max-depth", 0, "keep the `N` innermost frames of each call stack; 0: all")
	f.BoolVar(&m.timeCalls, "time-calls", false,
		"measure the time inside of the allocation functions, per function and thread")
	f.StringVar(&m.start, "start", "on", "with `off`: record nothing until heaptap ctl, or the program, says so")
	f.StringVar(&m.startAfter, "start-after", "", "begin to record after this `TIME`, as 500ms, 10s or 5m, or this "+
		"number of allocations, as 20000 or 1M")
	f.StringVar(&m.stopAfter, "stop-after", "", "stop recording this `TIME`, or this number of allocations, after "+
		"it began")
}

// variables is what the agent's environment must say; only what was given, so that its own defaults hold.
func (m *modeFlags) variables(cmd *cobra.Command) ([]string, error) {
	var list []string
	var wrong error
	set := func(flag, variable string, value func() (string, error)) {
		if !cmd.Flags().Changed(flag) || wrong != nil {
			return
		}
		text, err := value()
		if err != nil {
			wrong = usagef("run: --%s: %w", flag, err)
			return
		}
		list = append(list, variable+"="+text)
	}
	set("mode", "HEAPTAP_MODE", func() (string, error) { return oneOf(m.mode, "exact", "sampled", "count", "off") })
	set("sample", "HEAPTAP_SAMPLE", func() (string, error) { return positive(humanize.ParseSize(m.sample)) })
	set("sample-calls", "HEAPTAP_SAMPLE_CALLS",
		func() (string, error) { return positive(humanize.ParseCount(m.sampleCalls)) })
	set("stack-min", "HEAPTAP_STACK_MIN", func() (string, error) {
		n, err := humanize.ParseSize(m.stackMin)
		return strconv.FormatInt(n, 10), err
	})
	set("stack", "HEAPTAP_STACK", func() (string, error) { return oneOf(m.stack, "unwind", "enter-exit") })
	set("time-calls", "HEAPTAP_TIME_CALLS", func() (string,
		error) {
		return map[bool]string{false: "0", true: "1"}[m.timeCalls], nil
	})
	set("start", "HEAPTAP_START", func() (string, error) { return oneOf(m.start, "on", "off") })
	set("start-after", "HEAPTAP_START_AFTER", func() (string, error) { return timeOrCount(m.startAfter) })
	set("stop-after", "HEAPTAP_STOP_AFTER", func() (string, error) { return timeOrCount(m.stopAfter) })
	switch {
	case wrong != nil:
	case cmd.Flags().Changed("sample") && cmd.Flags().Changed("sample-calls"):
		wrong = usagef("run: --sample and --sample-calls exclude each other")
	case m.maxDepth < 0:
		wrong = usagef("run: --max-depth %d: must not be negative", m.maxDepth)
	}
	return list, wrong
}

func oneOf(value string, choices ...string) (string, error) {
	if slices.Contains(choices, value) {
		return value, nil
	}
	last := len(choices) - 1
	return "", fmt.Errorf("%q: must be %s or %s", value, strings.Join(choices[:last], ", "), choices[last])
}

// largestSample is the largest mean, in bytes or calls, that the agent takes.
const largestSample = 1 << 46

func positive(n int64, err error) (string, error) {
	if err == nil && (n < 1 || n > largestSample) {
		err = fmt.Errorf("%d: must be between 1 and %d", n, int64(largestSample))
	}
	return strconv.FormatInt(n, 10), err
}

// timeOrCount reads a time or a number of allocations, and returns it as the agent takes it.
func timeOrCount(text string) (string, error) {
	if n, err := humanize.ParseCount(text); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return "", fmt.Errorf("%q is neither a time, as 500ms, 10s or 5m, nor a number of allocations, as 20000 or 1M",
			text)
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms", nil
}

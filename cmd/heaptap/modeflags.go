package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/flagfile"
	"github.com/heaptap/heaptap/internal/launch"
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
		"allocations chosen at random; count, only how many and how large; off, nothing until heaptap ctl or the "+
		"program starts it (heaptap help modes)")
	f.StringVar(&m.sample, "sample", "512KiB", "with --mode sampled: one sample for each `SIZE` allocated, on average")
	f.StringVar(&m.sampleCalls, "sample-calls", "",
		"with --mode sampled: one sample for each `N` allocations instead, on average")
	f.StringVar(&m.stackMin, "stack-min", "", "record call stacks only of allocations of at least `SIZE`; the "+
		"others share one")
	f.StringVar(&m.stack, "stack", "unwind", "find call stacks by `METHOD`: unwind; or enter-exit, without "+
		"unwinding, from functions compiled with -finstrument-functions")
	f.IntVar(&m.maxDepth, "max-depth", 0, "keep the `N` innermost frames of each call stack; 0: all")
	f.BoolVar(&m.timeCalls, "time-calls", false,
		"measure the time in the allocation functions, per function and thread")
	f.StringVar(&m.start, "start", "on", "with `off`: record nothing until heaptap ctl or the program starts recording")
	f.StringVar(&m.startAfter, "start-after", "", "begin to record after this `TIME`, such as 500ms, 10s or 5m, or "+
		"this number of allocations, such as 20000 or 1M")
	f.StringVar(&m.stopAfter, "stop-after", "", "stop recording after this `TIME`, or this number of allocations, "+
		"counted from its beginning")
}

// variables returns the agent's variables for the flags that were given. The others keep the agent's own defaults.
func (m *modeFlags) variables(cmd *cobra.Command) ([]string, error) {
	timeCalls := func(string) (string, error) { return map[bool]string{false: "0", true: "1"}[m.timeCalls], nil }
	var list []string
	for _, v := range []struct {
		flag, text string
		read       func(string) (string, error)
	}{
		{"mode", m.mode, launch.AgentMode}, {"sample", m.sample, launch.AgentSample},
		{"sample-calls", m.sampleCalls, launch.AgentSampleCalls}, {"stack-min", m.stackMin, launch.AgentSize},
		{"stack", m.stack, launch.AgentStack}, {"time-calls", "", timeCalls}, {"start", m.start, launch.AgentStart},
		{"start-after", m.startAfter, launch.AgentMoment}, {"stop-after", m.stopAfter, launch.AgentMoment},
	} {
		if !cmd.Flags().Changed(v.flag) {
			continue
		}
		value, err := v.read(v.text)
		if err != nil {
			return nil, usagef("run: --%s: %w", v.flag, err)
		}
		list = append(list, flagfile.Variable(v.flag)+"="+value)
	}
	switch {
	case cmd.Flags().Changed("sample") && cmd.Flags().Changed("sample-calls"):
		return nil, usagef("run: --sample and --sample-calls exclude each other")
	case m.maxDepth < 0:
		return nil, usagef("run: --max-depth %d: must not be negative", m.maxDepth)
	}
	return list, nil
}

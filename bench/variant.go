package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// variant is a way to run a workload.
type variant struct {
	name, what string
	class      class
	base       string // the variant to compare with; "": the shim for synthetic workloads, the bare run for others
	tenth      bool   // runs a tenth of synthetic work
	rarely     bool   // runs less often
	// start returns the command that runs cpu (the whole measuring command without the target's variables; none: the
	// target runs by itself), and what to wait for after it. out is a fresh folder for the variant's output.
	start start
}

type start func(b *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error)

// class is the role of a variant.
type class int

const (
	baseline class = iota // a base to compare with: tables show its total, not what it adds
	ours
	rival
	reference // not a profiler: shows what a part of one adds; not in charts
)

// Names of variants that tables and goals refer to.
const (
	bare, shim, exact, sampled, counted = "bare", "shim", "exact", "sampled", "count"
	heaptrackName, heaptrackRaw         = "heaptrack", "heaptrack -r"
	monitored, measured, sketch         = "empty monitor", "measured", "sketch"
)

// direct runs the target with variables in its environment. {out} in them stands for the output folder.
func direct(vars ...string) start {
	return func(_ *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
		var set []string
		for _, v := range vars {
			set = append(set, strings.ReplaceAll(v, "{out}", out))
		}
		if len(cpu) == 0 {
			cmd := exec.Command(target[0], target[1:]...)
			cmd.Env = set
			return cmd, nil, nil
		}
		args := append(append(append(slices.Clone(cpu), set...), "--"), target...)
		return exec.Command(args[0], args[1:]...), nil, nil
	}
}

// recorded runs the target under heaptap run, with flags.
func recorded(flags ...string) start {
	return func(b *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
		args := append(append([]string{"run", "-q", "-o", out + "/"}, flags...), "--")
		if len(cpu) > 0 {
			args = append(append(args, cpu...), "--")
		}
		args = append(args, target...)
		return exec.Command(b.heaptap, args...), nil, nil
	}
}

// baselines returns the variants that others are compared with.
func (b *bench) baselines() []variant {
	return []variant{
		{name: bare, what: "the program alone", start: direct()},
		{name: shim, what: "a preloaded library that only forwards", start: direct("LD_PRELOAD=" + b.shim)},
	}
}

var exactVariant = variant{name: exact, what: "`heaptap run`: every event with its call stack", class: ours,
	start: recorded()}

// sketchVariant returns the variant beside which the agent's hot path is measured (src/sketch.c).
func (b *bench) sketchVariant() variant {
	return variant{name: sketch, what: "a reduced copy of the agent's hot path: exact call stacks and 24-byte " +
		"events, which nobody reads; without threads' ends, forks, limits, reports and all else that a program needs",
		class: reference, start: direct("LD_PRELOAD=" + b.sketch)}
}

// modes returns heaptap's other modes.
func (b *bench) modes() (all []variant, missing []string) {
	for _, m := range []struct {
		name, what, base string
		rarely           bool
		flags            []string
	}{
		{"free stacks", "with the call stacks of deallocations", "", true, []string{"--free-stacks"}},
		{sampled, "one sample for each 512 KiB on average", "", false, []string{"--mode", "sampled"}},
		{counted, "calls, bytes and size classes, no stacks", "", false, []string{"--mode", "count"}},
		{"time-calls", "exact, and the time inside of the allocator", "", true, []string{"--time-calls"}},
		{monitored, "what two empty callbacks add to exact", exact, false, []string{"--monitor", b.monitor}},
		{measured, "what a measure of the main thread adds to exact", exact, false,
			[]string{"--monitor", b.monitor + ":measure"}},
	} {
		flags := strings.ReplaceAll(strings.Join(m.flags, " "), b.dir, "bench")
		if err := b.try(recorded(m.flags...)); err != nil {
			missing = append(missing, fmt.Sprintf("%s (heaptap run %s: %v)", m.name, flags, err))
			continue
		}
		all = append(all, variant{name: m.name, what: "`heaptap run " + flags + "`: " + m.what, class: ours,
			base: m.base, rarely: m.rarely, start: recorded(m.flags...)})
	}
	return all, missing
}

// try returns an error if a variant does not run at all.
func (b *bench) try(s start) error {
	out, err := os.MkdirTemp(b.dir, "try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out)
	cmd, _, err := s(b, []string{b.cpu, out + "/cpu"}, []string{"true"}, out)
	if err != nil {
		return err
	}
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(text)))
	}
	if i := strings.Index(string(text), "Invalid conf"); i >= 0 { // jemalloc ignores options that it does not know
		line, _, _ := strings.Cut(string(text)[i:], "\n")
		return fmt.Errorf("%s", line)
	}
	return nil
}

// variants returns the variants that this machine can run, in the order of the tables: those of the main part of the
// page, or the slow rivals.
func (b *bench) variants(rivals, slow bool) (all []variant, missing []string) {
	all = append(b.baselines(), exactVariant)
	if slow {
		others, none := b.slowRivals()
		return append(all, others...), none
	}
	more, missing := b.modes()
	all = append(all, more...)
	if b.sketch != "" {
		all = append(all, b.sketchVariant())
	} else {
		missing = append(missing, sketch+" (needs glibc 2.35)")
	}
	if rivals {
		others, none := b.rivals()
		all, missing = append(all, others...), append(missing, none...)
	}
	return all, missing
}

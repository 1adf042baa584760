package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/livelog"
	"github.com/heaptap/heaptap/internal/monitor"
	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/summary"
)

// runFlags are the flags of heaptap run.
type runFlags struct {
	output, outputMode string
	limit, maxSize     string // sizes
	keep               time.Duration
	logTo              string
	quiet, require     bool
	freeStacks         bool
	addresses          bool
	top                int
	exportTo           []string
	monitorTexts       []string
	mode               modeFlags
	controls           controlFlags
	configs            configFlags
	scrub              scrubFlags
	checked            bool
	limits             *pflag.FlagSet // those of gate
	gate               *gateFlags
}

func newRunCommand() *cobra.Command {
	r := &runFlags{limits: pflag.NewFlagSet("limits", pflag.ContinueOnError)}
	r.gate = newGate(r.limits)
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARGS...]",
		Short: "Run a program and record its allocations",
		Long: `Run runs COMMAND as if heaptap were not there: stdin, stdout, stderr, signals, terminal and working
directory are the command's own. Every program that it executes is recorded into a file of its own,
NAME.PID.htap; when a process executes further programs of the same name, they go to NAME.PID.2.htap
and so on. When COMMAND ends, a summary is printed on stderr. Daemons that it leaves behind are
recorded until they end.

With --check, every recording is then checked against the given limits, each on its own, as heaptap
check does ("heaptap help check"); the result is printed on stderr.

If heaptap fails, the command runs unrecorded, unless --require is given.

Exit status: the command's own; 128+N if signal N killed it. If the command did not run: 125 if
heaptap was called wrongly, or failed with --require; 126 if the command cannot be executed; 127 if
it does not exist. With --check, if the command's own is 0: 1 if a limit does not hold, 125 if that
cannot be determined.`,
		Example: `  heaptap run ./server --port 8080
  heaptap run -o /tmp/recordings -- make -j8
  heaptap run -q -o build.%n.%p.htap -- g++ -O2 -c big.cc
  heaptap run --check --max-leaked 0 --max-peak 200MiB -- ./tests
  PYTHONMALLOC=malloc heaptap run python3 script.py   (Python's own pools hide most of its allocations)`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !r.configs.print {
				return usagef("run: no command given; for example: heaptap run ls -l")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			launch.Undo()
			if err := r.configs.load(cmd); err != nil {
				return err
			}
			if r.configs.print {
				return r.configs.write(cmd.OutOrStdout(), cmd.Flags())
			}
			return r.run(cmd, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	r.add(cmd.Flags())
	r.gate.complete(cmd)
	usageInParts(cmd, r.limits, "With --check")
	return cmd
}

// add declares the flags.
func (r *runFlags) add(f *pflag.FlagSet) {
	f.StringVarP(&r.output, "output", "o", "", "write the recording to `FILE` (%p process id, %n program's name, %r "+
		"rank, %h host) or into a folder; default %n.%p.htap")
	f.StringVar(&r.outputMode, "output-mode", "600",
		"permissions of the recordings, as an `OCTAL` number; recordings contain arguments, paths and names, so by "+
			"default only their owner may read them")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "print no summary; errors and warnings are still printed")
	f.IntVar(&r.top, "top", 5, "show `N` call stacks in the summary")
	r.mode.add(f)
	r.controls.add(f)
	r.configs.add(f)
	f.BoolVar(&r.freeStacks, "free-stacks", false,
		"record the call stack of each deallocation, too: it shows where memory is freed twice; costs time and disk")
	f.BoolVar(&r.addresses, "addresses", false,
		"record the address of each block, too; costs up to a byte for each event")
	f.StringVar(&r.logTo, "log", "", "print the events while COMMAND runs, as heaptap log does, to `FILE` or to the "+
		"file descriptor of that number")
	f.StringSliceVar(&r.exportTo, "export", nil, "also export each complete recording in this `FORMAT`, to a file "+
		"beside it; may be repeated (heaptap export --list)")
	f.StringArrayVar(&r.monitorTexts, "monitor", nil,
		"watch the program with a monitor, `NAME[:KEY=VALUE,...]`: "+strings.Join(monitor.Names,
			", ")+", or your own library, ./mine.so; may be repeated (heaptap help monitors)")
	f.BoolVar(&r.require, "require", false,
		"if heaptap fails, do not run COMMAND unrecorded; end with status 125")
	r.scrub.add(f)
	f.DurationVar(&r.keep, "keep", 0, "keep each event for this `TIME`, such as 90s, 10m or 24h; older events may be "+
		"folded: totals, peaks and leaks stay exact, details are lost")
	f.StringVar(&r.maxSize, "max-size", "", "fold the oldest events when a recording takes more than `SIZE` on "+
		"disk, for example 2G")
	f.StringVar(&r.limit, "spill-limit", "", "use at most `SIZE` of disk while the recorder lags behind, for "+
		"example 512M; default: 4G, or half of the free disk if that is less")
	f.BoolVar(&r.checked, "check", false,
		"check the recordings against the limits below, and end with status 1 if one does not hold")
	f.AddFlagSet(r.limits)
}

// config returns the configuration of a run, as far as it depends on these flags.
func (r *runFlags) config(cmd *cobra.Command, args []string) (c launch.Config, err error) {
	if r.top < 0 {
		return c, usagef("run: --top %d: must not be negative", r.top)
	}
	c = launch.Config{Args: args, FreeStacks: r.freeStacks, Addresses: r.addresses, Keep: r.keep, Rescue: rescue,
		MaxDepth: r.mode.maxDepth, Require: r.require}
	if c.Output, err = launch.ResolveOutput(r.output); err != nil {
		return c, &launch.StatusError{Status: launch.StatusFailed, Err: err}
	}
	if c.OutputMode, err = launch.ParseOutputMode(r.outputMode); err != nil {
		return c, usagef("run: --output-mode: %w", err)
	}
	c.SpillLimit = spill.DefaultLimit(c.Output.Dir)
	if r.limit != "" {
		if c.SpillLimit, err = humanize.ParseSize(r.limit); err != nil {
			return c, usagef("run: --spill-limit: %w", err)
		}
	}
	if r.keep < 0 {
		return c, usagef("run: --keep %v: must not be negative", r.keep)
	}
	if r.maxSize != "" {
		if c.MaxSize, err = humanize.ParseSize(r.maxSize); err != nil {
			return c, usagef("run: --max-size: %w", err)
		}
	}
	c.Agent, err = r.mode.variables(cmd)
	return c, err
}

// run runs the command, and then summarizes, scrubs, exports and checks its recordings.
func (r *runFlags) run(cmd *cobra.Command, args []string) error {
	config, err := r.config(cmd, args)
	if err != nil {
		return err
	}
	watching, err := monitor.Parse(r.monitorTexts, r.freeStacks)
	if err != nil {
		return usagef("run: --monitor %w", err)
	}
	variables, libraries := watching.Variables()
	config.Agent, config.Preload = append(config.Agent, variables...), libraries
	config.Command, config.CommandTime = watching.Command()
	console := launch.NewConsole(os.Stderr)
	console.Quiet = r.quiet
	config.Console = console
	defer r.gate.Close()
	if err := r.gate.forRun(cmd, r.limits, r.checked, r.top, console); err != nil {
		return err
	}
	exports, err := exportsOf(cmd, r.exportTo)
	if err := errors.Join(err, r.scrub.check(cmd)); err != nil {
		return err
	}
	if err := r.controls.apply(cmd, &config); err != nil {
		return err
	}
	result, err := r.launch(config, watching)
	if err != nil {
		return err
	}
	summary.Complain(console, result.Recordings)
	summary.Unseen(console, result.Recordings)
	if !r.quiet && result.Recorded {
		summary.Write(console, result, r.top, coloured(console))
	}
	over := watching.Run(cmd.Context(), result, console)
	r.scrub.run(result, console)
	exports.write(cmd, result, console)
	if r.checked {
		if err := r.gate.checkRun(cmd, result, console); err != nil && result.Status == 0 {
			return err
		}
	}
	if over > 0 && result.Status == 0 {
		return &exitError{status: 1}
	}
	return &exitError{status: result.Status}
}

// launch runs the command while the log and the periodic monitors follow its recordings.
func (r *runFlags) launch(config launch.Config, watching *monitor.Monitors) (result *launch.Result, err error) {
	if r.logTo != "" {
		log, err := livelog.Open(r.logTo)
		if err != nil {
			return nil, &launch.StatusError{Status: launch.StatusFailed, Err: err}
		}
		config.OnRecording, config.Flush = log.OnRecording, livelog.Delay
		defer func() {
			if err := log.Close(); err != nil {
				config.Console.Warn("the log is not complete: %v", err)
			}
		}()
	}
	if watching.Periodic() {
		logged := config.OnRecording
		config.Flush = livelog.Delay
		config.OnRecording = func(rec launch.Recording, finished bool) {
			if logged != nil {
				logged(rec, finished)
			}
			watching.OnRecording(rec, finished)
		}
	}
	return launch.Run(config)
}

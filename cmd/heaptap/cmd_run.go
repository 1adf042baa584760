package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/livelog"
	"github.com/heaptap/heaptap/internal/monitor"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/spill"
	"github.com/heaptap/heaptap/internal/summary"
	"github.com/heaptap/heaptap/internal/view"
)

// runFlags are the flags of heaptap run.
type runFlags struct {
	output, outputMode string
	limit, maxSize     string // sizes
	keep               time.Duration
	logTo              string
	quiet, require     bool
	single             bool
	freeStacks         bool
	addresses          bool
	residency          bool
	top                int
	exportTo           []string
	monitorTexts       []string
	code               codeFlags
	mode               modeFlags
	controls           controlFlags
	configs            configFlags
	scrub              scrubFlags
	checked, helpAll   bool
	limits             *pflag.FlagSet // those of gate
	gate               *gateFlags
}

func newRunCommand() *cobra.Command {
	r := &runFlags{limits: pflag.NewFlagSet("limits", pflag.ContinueOnError)}
	r.gate = newGate(r.limits)
	r.limits.BoolVar(&r.gate.All, "all", false, "check the recordings of all processes, not only those of the program "+
		"that COMMAND names")
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARGS...]",
		Short: "Run a program and record its allocations",
		Long: `Run runs COMMAND as if heaptap were not there: stdin, stdout, stderr, signals, terminal and working
directory are the command's own. Every program that it executes is recorded, all into one run,
NAME.PID.htap: a file if there is one program, else a folder ("heaptap pack" makes one file of it).
When COMMAND ends, a summary is printed on stderr. Daemons that it leaves behind are recorded until
they end.

With --check, the recording of the program that COMMAND names is then checked against the given
limits, as heaptap check does ("heaptap help check"); the result is printed on stderr. If COMMAND is
a shell or a script that starts several programs, --process says which ones are meant, or --all.

If heaptap fails, the command runs unrecorded, unless --require is given.

Exit status: the command's own; 128+N if signal N killed it. If the command did not run: 125 if
heaptap was called wrongly, or failed with --require; 126 if the command cannot be executed; 127 if
it does not exist. With --check, if the command's own is 0: 1 if a limit does not hold, 125 if that
cannot be determined.`,
		Example: `  heaptap run ./server --port 8080
  heaptap run -o recordings/ -- make -j8
  heaptap run -q -o build.%n.%p.htap -- g++ -O2 -c big.cc
  heaptap run --check --max-leaked 0 --max-peak 200MiB -- ./tests
  PYTHONMALLOC=malloc heaptap run python3 script.py   # Python's own pools hide most allocations`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !r.configs.print && !r.helpAll {
				return usagef("run: no command given; for example: heaptap run ls -l")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.helpAll {
				return cmd.Help()
			}
			launch.Undo()
			onCommandLine := changed(cmd.Flags())
			if err := r.configs.load(cmd); err != nil {
				return err
			}
			if r.configs.print {
				return r.configs.write(cmd.OutOrStdout(), cmd.Flags())
			}
			// Variables and a file may have defaults that do not matter in each run. But who wants names hidden, does
			// so wherever they say it.
			if err := checkEffects(cmd, append(onCommandLine, r.scrub.given(cmd.Flags())...)); err != nil {
				return err
			}
			return r.run(cmd, args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	r.add(cmd.Flags())
	r.gate.complete(cmd)
	showsRunFlags(cmd, &r.helpAll, r.limits)
	return cmd
}

// add declares the flags.
func (r *runFlags) add(f *pflag.FlagSet) {
	f.StringVarP(&r.output, "output", "o", "", "write the run to `FILE` or into a folder; default NAME.PID.htap. %r "+
		"is the rank, %h the host; with %p (process id) or %n (program's name), each program gets a file of its own")
	f.BoolVar(&r.single, "single", false,
		"keep only the program that matters, as one file: the one that you named, or in doubt the largest")
	f.StringVar(&r.outputMode, "output-mode", "600",
		"permissions of the recordings, as an `OCTAL` number; recordings contain arguments, paths and names, so by "+
			"default only their owner may read them")
	f.BoolVarP(&r.quiet, "quiet", "q", false, "print no summary; errors and warnings are still printed")
	f.IntVar(&r.top, "top", 5, "show `N` call stacks in the summary")
	r.code.code(f)
	r.mode.add(f)
	r.controls.add(f)
	r.configs.add(f)
	f.BoolVar(&r.freeStacks, "free-stacks", false,
		"record the call stack of each deallocation, too: it shows where memory is freed twice; costs time and disk")
	f.BoolVar(&r.addresses, "addresses", false,
		"record the address of each block, too; costs up to a byte for each event")
	f.BoolVar(&r.residency, "residency", false,
		"record which pages of the heap are in memory, too, for at most 1 % of a processor; implies --addresses")
	f.StringVar(&r.logTo, "log", "", "print the events while COMMAND runs, as heaptap log does, to `FILE` or to the "+
		"file descriptor of that number")
	f.StringSliceVar(&r.exportTo, "export", nil, "also export the program that matters in this `FORMAT`, to a file "+
		"beside the run; may be repeated (heaptap export --list)")
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
		"check the recordings against limits, such as --max-leaked 0, and end with status 1 if one does not hold")
	f.BoolVar(&r.helpAll, "help-all", false, "show all flags")
	f.AddFlagSet(r.limits)
}

// config returns the configuration of a run, as far as it depends on these flags.
func (r *runFlags) config(cmd *cobra.Command, args []string) (c launch.Config, err error) {
	if r.top < 0 {
		return c, usagef("run: --top %d: must not be negative", r.top)
	}
	c = launch.Config{Args: args, FreeStacks: r.freeStacks, Addresses: r.addresses || r.residency,
		Residency: r.residency, Keep: r.keep, Rescue: rescue, MaxDepth: r.mode.maxDepth, Require: r.require,
		Version: version()}
	if c.Output, err = launch.ResolveOutput(r.output); err != nil {
		return c, &launch.StatusError{Status: launch.StatusFailed, Err: err}
	}
	if r.single && c.Output.Programs {
		return c, usagef("run: --single: -o %s already names a file for each program", r.output)
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
	r.gate.q.codeFlags = r.code
	if err := r.gate.forRun(cmd, r.limits, r.checked, r.top, console); err != nil {
		return err
	}
	look := view.Options{Top: r.top, Width: outputWidth(os.Stderr), Color: coloured(console)}
	if err := r.code.apply(cmd, &look); err != nil {
		return err
	}
	exports, err := exportsOf(cmd, r.exportTo)
	if err != nil {
		return err
	}
	if err := r.controls.apply(cmd, &config); err != nil {
		return err
	}
	result, err := r.launch(config, watching)
	if err != nil {
		return err
	}
	if r.single && result.Run != "" {
		if err := single(result); err != nil {
			console.Warn("--single: %v", err)
		}
	}
	summary.Complain(console, result.Recordings)
	summary.Unseen(console, result.Recordings)
	if !r.quiet && result.Recorded {
		summary.Write(console, result, look)
	}
	over := watching.Run(cmd.Context(), result, console)
	result.Settle()
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

// single keeps only the program that matters of a run.
func single(result *launch.Result) error {
	if n := len(result.Running); n > 0 {
		return fmt.Errorf("not done: processes still run (%s)", strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]),
			"[]"))
	}
	i, _ := result.Matters()
	if err := run.Single(result.Run); err != nil {
		return err
	}
	if i >= 0 {
		result.Recordings = result.Recordings[i : i+1]
	}
	return nil
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

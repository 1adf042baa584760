package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/monitor"
	"github.com/heaptap/heaptap/internal/summary"
)

// parseOutputMode reads permissions. Who owns a recording must be able to read and write it.
func parseOutputMode(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("%q is not a file's permissions in octal (for example 600, 640, 644)", text)
	}
	if n&0o600 != 0o600 {
		return 0, fmt.Errorf("%s: the owner must be able to read and write (for example 600, 640, 644)", text)
	}
	return fs.FileMode(n), nil
}

func newRunCommand() *cobra.Command {
	var output, outputMode, limit, logTo, maxSize string
	var keep time.Duration
	var quiet, freeStacks, addresses, checked, require bool
	limits := pflag.NewFlagSet("limits", pflag.ContinueOnError)
	var exportTo, monitorTexts []string
	gate := newGate(limits)
	scrub := &scrubFlags{}
	mode := &modeFlags{}
	controls := &controlFlags{}
	configs := &configFlags{}
	top := 5
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARGS...]",
		Short: "Run a program and record its allocations",
		Long: `Run runs COMMAND as if heaptap were not there: stdin, stdout, stderr, signals, terminal and working directory are
the command's own. Every program that it executes is recorded into a file of its own, NAME.PID.htap; when a process
executes further programs of the same name, they go to NAME.PID.2.htap and so on. When COMMAND ends, a summary is printed on
stderr. Daemons that it leaves behind go on being recorded until they end.

With --check, every recording is then checked against the limits that are given, each recording for itself, as heaptap check does
("heaptap help check" tells more); what comes of it is printed on stderr.

If heaptap fails, the command runs unrecorded, unless there is --require.

Exit status: the command's own; 128+N if signal N killed it. If the command did not run at all: 125 heaptap was called wrongly, or
failed and there is --require, 126 the command cannot be executed, 127 there is no such command. With --check, if the command's own is 0: 1 if a limit does not
hold, 125 if that cannot be told.`,
		Example: `  heaptap run ./server --port 8080
  heaptap run -o /tmp/recordings -- make -j8
  heaptap run -q -o build.%n.%p.htap -- g++ -O2 -c big.cc
  heaptap run --check --max-leaked 0 --max-peak 200MiB -- ./tests
  PYTHONMALLOC=malloc heaptap run python3 script.py   (Python's own pools hide most of its allocations)`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !configs.print {
				return usagef("run: no command given; for example: heaptap run ls -l")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			launch.Undo()
			if err := configs.load(cmd); err != nil {
				return err
			}
			if configs.print {
				return configs.write(cmd.OutOrStdout(), cmd.Flags())
			}
			if top < 0 {
				return usagef("run: --top %d: must not be negative", top)
			}
			out, err := launch.ResolveOutput(output)
			if err != nil {
				return &launch.StatusError{Status: launch.StatusFailed, Err: err}
			}
			permissions, err := parseOutputMode(outputMode)
			if err != nil {
				return usagef("run: --output-mode: %w", err)
			}
			spill := launch.SpillLimit(out.Dir)
			if limit != "" {
				if spill, err = humanize.ParseSize(limit); err != nil {
					return usagef("run: --spill-limit: %w", err)
				}
			}
			if keep < 0 {
				return usagef("run: --keep %v: must not be negative", keep)
			}
			size := int64(0)
			if maxSize != "" {
				if size, err = humanize.ParseSize(maxSize); err != nil {
					return usagef("run: --max-size: %w", err)
				}
			}
			agent, err := mode.variables(cmd)
			if err != nil {
				return err
			}
			watching, err := monitor.Parse(monitorTexts, freeStacks)
			if err != nil {
				return usagef("run: --monitor %w", err)
			}
			variables, libraries := watching.Variables()
			agent = append(agent, variables...)
			console := launch.NewConsole(os.Stderr)
			console.Quiet = quiet
			defer gate.Close()
			if err := gate.forRun(cmd, limits, checked, top, console); err != nil {
				return err
			}
			exports, err := exportsOf(cmd, exportTo)
			if err := errors.Join(err, scrub.check(cmd)); err != nil {
				return err
			}
			config := launch.Config{
				Args: args, Output: out, OutputMode: permissions, SpillLimit: spill, FreeStacks: freeStacks,
				Addresses: addresses, Keep: keep, MaxSize: size, Console: console,
				Rescue: rescue, Agent: agent, Preload: libraries, MaxDepth: mode.maxDepth, Require: require,
			}
			config.Command, config.CommandTime = watching.Command()
			if err := controls.apply(cmd, &config); err != nil {
				return err
			}
			var log *liveLog
			if logTo != "" {
				if log, err = openLog(logTo); err != nil {
					return &launch.StatusError{Status: launch.StatusFailed, Err: err}
				}
				config.Heard, config.Flush = log.heard, logDelay
			}
			if watching.Periodic() {
				other := config.Heard
				config.Flush = logDelay
				config.Heard = func(rec launch.Recording, finished bool) {
					if other != nil {
						other(rec, finished)
					}
					watching.Heard(rec, finished)
				}
			}
			result, err := launch.Run(config)
			if log != nil {
				if err := log.close(); err != nil {
					console.Warn("the log is not whole: %v", err)
				}
			}
			if err != nil {
				return err
			}
			summary.Complain(console, result.Recordings)
			summary.Unseen(console, result.Recordings)
			if !quiet && result.Recorded {
				summary.Write(console, result, top, coloured(console))
			}
			over := watching.Run(cmd.Context(), result, console)
			scrub.run(result, console)
			exports.write(cmd, result, console)
			if checked {
				if err := gate.checkRun(cmd, result, console); err != nil && result.Status == 0 {
					return err
				}
			}
			if over > 0 && result.Status == 0 {
				return &exitError{status: 1}
			}
			return &exitError{status: result.Status}
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the recording to `FILE` (%p process id, %n program's name, %r rank, %h host) or into a folder; default %n.%p.htap")
	cmd.Flags().StringVar(&outputMode, "output-mode", "600", "permissions of the recordings, as `OCTAL` number: they hold arguments, paths and names, so that by default only their owner may read them")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print no summary; errors and warnings are printed all the same")
	cmd.Flags().IntVar(&top, "top", top, "show `N` call stacks in the summary")
	mode.add(cmd.Flags())
	controls.add(cmd.Flags())
	configs.add(cmd.Flags())
	cmd.Flags().BoolVar(&freeStacks, "free-stacks", false,
		"record the call stack of each deallocation, too: shows where memory is freed twice; costs time and disk")
	cmd.Flags().BoolVar(&addresses, "addresses", false, "record where each block lay, too; costs up to a byte an event")
	cmd.Flags().StringVar(&logTo, "log", "", "print the events while COMMAND runs, as heaptap log does, to `FILE`, or to a file descriptor by its number")
	cmd.Flags().StringSliceVar(&exportTo, "export", nil, "write each recording in this `FORMAT`, too, when it is complete, to a file beside it; may be repeated (heaptap export --list)")
	cmd.Flags().StringArrayVar(&monitorTexts, "monitor", nil, "watch the program by `NAME[:KEY=VALUE,...]`: "+strings.Join(monitor.Names, ", ")+", or a library of yours, ./mine.so; may be repeated (heaptap help monitors)")
	cmd.Flags().BoolVar(&require, "require", false,
		"do not run COMMAND if it cannot be recorded because heaptap fails; end with status 125")
	scrub.add(cmd.Flags())
	cmd.Flags().DurationVar(&keep, "keep", 0, "keep each event for this long, as 90s, 10m or 24h; what is older may be folded: totals, peaks and leaks stay exact, details are lost")
	cmd.Flags().StringVar(&maxSize, "max-size", "", "fold the oldest events when a recording takes more than `SIZE` on disk, for example 2G")
	cmd.Flags().StringVar(&limit, "spill-limit", "", "use at most `SIZE` of disk while recording lags behind, for example 512M; default 4G, or half of the free disk if that is less")
	cmd.Flags().BoolVar(&checked, "check", false,
		"check the recordings against the limits below, and end with status 1 if one does not hold")
	cmd.Flags().AddFlagSet(limits)
	gate.complete(cmd)
	usageInParts(cmd, limits, "With --check")
	return cmd
}

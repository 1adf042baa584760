package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/record"
	"github.com/heaptap/heaptap/internal/view"
	"github.com/heaptap/heaptap/internal/wire"
)

func newReportCommand() *cobra.Command {
	var asJSON bool
	var color string
	top, frames := 5, 8
	cmd := &cobra.Command{
		Use:   "report [flags] FILE...",
		Short: "Show where a recording's memory went",
		Long: `Report shows what a recording says: the peak, what was leaked, how much was allocated and how much of it was temporary,
and for each of these the call stacks that stand out. Stacks begin with the function that called the allocator.

FILE is a recording (.htap), also one that is damaged or was cut short: what is whole is shown, and what is missing is
said. It may also be the .spool file of a process that ran with the agent preloaded and without a recorder. With --json everything is printed for programs, every call stack with all of its frames; docs/report-json.md
describes the fields.`,
		Example: `  heaptap report server.4711.htap
  heaptap report --top 20 --frames 30 server.4711.htap
  heaptap report --json server.4711.htap | jq '.peak.bytes'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("report: no recording given; for example: heaptap report server.4711.htap")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 0 || frames < 0 {
				return usagef("report: --top and --frames must not be negative")
			}
			o := view.Options{Top: top, Frames: frames, Width: 100}
			if top == 0 {
				o.Top = -1
			}
			if frames == 0 {
				o.Frames = -1
			}
			if asJSON && !cmd.Flags().Changed("top") {
				o.Top = 0 // every stack
			}
			switch color {
			case "auto":
				o.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(cmd.OutOrStdout())
			case "always":
				o.Color = true
			case "never":
			default:
				return usagef("report: --color %s: known are auto, always and never", color)
			}
			for i, path := range args {
				if i > 0 && !asJSON {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := report(cmd.Context(), cmd.OutOrStdout(), path, asJSON, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as JSON, one object for each FILE")
	cmd.Flags().IntVar(&top, "top", top, "show `N` call stacks for each question; 0: none; with --json the default is all")
	cmd.Flags().IntVar(&frames, "frames", frames, "show at most `N` lines of each call stack; 0: all")
	cmd.Flags().StringVar(&color, "color", "auto", "`WHEN` to use colours: auto (on terminals, unless NO_COLOR is set), always, never")
	return cmd
}

func report(ctx context.Context, w io.Writer, path string, asJSON bool, o view.Options) error {
	paths := []string{path}
	if isSpool(path) {
		dir, err := os.MkdirTemp("", "heaptap-report-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		name := strings.TrimSuffix(filepath.Base(path), ".spool") + ".htap"
		if err := record.Convert(ctx, path, filepath.Join(dir, name)); err != nil {
			return err
		}
		// Children that the process forked have recordings of their own.
		if paths, err = filepath.Glob(filepath.Join(dir, "*.htap")); err != nil || len(paths) == 0 {
			return fmt.Errorf("%s: holds no events", path)
		}
	}
	for i, path := range paths {
		if i > 0 && !asJSON {
			fmt.Fprintln(w)
		}
		p, err := profile.Open(path)
		if err != nil {
			return err
		}
		if asJSON {
			err = view.ReportJSON(w, p, o)
		} else {
			err = view.Report(w, p, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isSpool reports whether a file is what an agent leaves behind without a recorder.
func isSpool(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var mark [8]byte
	_, err = io.ReadFull(f, mark[:])
	return err == nil && binary.LittleEndian.Uint64(mark[:]) == wire.SpoolMagic || strings.HasSuffix(path, ".spool")
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/browser"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/recording/atlas"
	"github.com/heaptap/heaptap/internal/serve"
	"github.com/heaptap/heaptap/ui"
)

// openFlags are the flags of the commands that show recordings in a browser.
type openFlags struct {
	serve.Options
	codeFlags
	sources                       sourceFlags
	readOnly, noSource, noBrowser bool
}

func (o *openFlags) add(f *pflag.FlagSet) {
	f.IntVar(&o.Port, "port", 0, "listen on port `N`; 0: a free one")
	f.StringVar(&o.Address, "listen", "127.0.0.1", "listen on `ADDRESS`. With any but 127.0.0.1 and ::1, anyone who "+
		"reaches the port and has the code can read the recordings, and nothing is encrypted; it needs --allow-host")
	f.StringArrayVar(&o.Hosts, "allow-host", nil, "`NAME` or address by which browsers may call this server, besides "+
		"localhost; may be repeated")
	f.BoolVar(&o.readOnly, "read-only", false, "write no notes, and take in no files")
	f.BoolVar(&o.noSource, "no-source", false, "read no source files")
	o.sources.add(f)
	o.code(f)
}

// answers are the options of the API.
func (o *openFlags) answers(cmd *cobra.Command, args []string) (a api.Options, err error) {
	a = api.Options{Version: version(), Finder: &input.Finder{Version: version(), Say: sayTo(cmd)}, Args: args,
		ReadOnly: o.readOnly, NoSource: o.noSource, Ahead: true}
	if f := cmd.Flags(); o.noSource && (f.Changed("source-path") || f.Changed("source-map")) {
		return a, usagef("%s: --no-source excludes --source-path and --source-map", cmd.Name())
	}
	finder, err := o.sources.finder(cmd)
	if err != nil {
		return a, err
	}
	a.Source = *finder
	a.Code, err = o.rules(cmd)
	return a, err
}

// whoMayAsk explains the server's protection in the help.
const whoMayAsk = `The server listens on this machine only. Its address has a code that works for 30 seconds, for one
browser, and only for a browser of this user; Enter prints an address with a new code. Ctrl-C ends
the server.

To look at a recording on another machine, forward a port to it, and open the address that is
printed. If the local port is another one, put that into the address:

  ssh -L 8080:localhost:8080 box heaptap serve --port 8080 server.4711.htap
  ssh -L 9000:localhost:8080 box heaptap serve --port 8080 server.4711.htap   # localhost:9000`

func newOpenCommand() *cobra.Command {
	var o openFlags
	cmd := &cobra.Command{
		Use:   "open [flags] [RUN|FILE...]",
		Short: "Show recordings in the browser",
		Long: `Open starts a web server for recordings, and the browser: the command in the variable BROWSER, or
xdg-open. Without a display, and in a session of ssh, it prints the address instead. Without RUN it
is the last run made here.

` + whoMayAsk,
		Example: `  heaptap open server.4711.htap
  heaptap open --no-browser --port 8080 before.htap after.htap
  heaptap open --source-map /build/src=$HOME/src server.4711.htap`,
	}
	o.add(cmd.Flags())
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "print the address, and start no browser: heaptap serve")
	cmd.RunE = o.run
	return cmd
}

func newServeCommand() *cobra.Command {
	o := openFlags{noBrowser: true}
	cmd := &cobra.Command{
		Use:   "serve [flags] [RUN|FILE...]",
		Short: "Serve recordings to a browser, here or by ssh",
		Long: `Serve starts a web server for recordings and prints its address. Without RUN it is the last run made
here.

` + whoMayAsk,
		Example: `  heaptap serve --port 8080 server.4711.htap
  heaptap serve --listen 0.0.0.0 --allow-host box.example server.4711.htap`,
	}
	o.add(cmd.Flags())
	cmd.RunE = o.run
	return cmd
}

func (o *openFlags) run(cmd *cobra.Command, args []string) error {
	saveServedMemory()
	options, err := o.answers(cmd, args)
	if err != nil {
		return err
	}
	o.Warn = sayTo(cmd)
	server, err := serve.Listen(o.Options)
	var usage *serve.UsageError
	switch {
	case errors.As(err, &usage):
		return usagef("%s: %w", cmd.Name(), err)
	case err != nil:
		return err
	}
	defer server.Close()
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	atlases, _ := atlas.OpenCache(atlas.Dir()) // without it, they are made again
	defer atlases.Close()
	options.Atlases = atlases
	answers, err := api.New(ctx, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("ended by a signal, before the recordings were found")
	case err != nil:
		return err
	}
	serving, end := context.WithCancelCause(ctx)
	defer end(nil)
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, ui.Files(), answers) }()
	go func() {
		if err := answers.Wait(serving); err != nil && serving.Err() == nil {
			end(fmt.Errorf("there is nothing to serve: %w", err))
		}
	}()
	o.invite(cmd, server, titleOf(args))
	err = errors.Join(<-served, answers.Close())
	if ctx.Err() == nil && serving.Err() != nil {
		err = errors.Join(context.Cause(serving), err)
	}
	return err
}

// untilSignal returns a context that ends with a signal that would end the program. A second one does end it.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	// With nohup, and in the background of a script, signals are ignored.
	signals := slices.DeleteFunc([]os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}, signal.Ignored)
	if len(signals) == 0 { // NotifyContext would take it for all of them
		return context.WithCancel(parent)
	}
	ctx, stop = signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// titleOf names what is served.
func titleOf(args []string) string {
	var names []string
	for _, arg := range args {
		names = append(names, filepath.Base(arg))
	}
	const most = 3
	if n := len(names) - most; n > 1 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	if len(names) == 0 {
		return "the last run made here"
	}
	return escape.Terminal(strings.Join(names, ", "))
}

// invite has the user see the recordings: in a browser, or at an address that is printed. It prints another address for
// each line of standard input.
func (o *openFlags) invite(cmd *cobra.Command, server *serve.Server, what string) {
	out := cmd.OutOrStdout()
	print := func() {
		fmt.Fprintf(out, "%s  %s (open it within %.0f s; Enter: another address, Ctrl-C: end)\n", server.Invitation(),
			what, serve.CodeLife.Seconds())
	}
	program, why := browser.Find(os.Getenv, exec.LookPath)
	switch {
	case o.noBrowser:
		print()
	case why != nil:
		sayTo(cmd)(why.Error() + ": no browser is started")
		print()
	default:
		fmt.Fprintf(out, "%s  %s (in the browser; Enter: an address for another one, Ctrl-C: end)\n", server.Address(),
			what)
		program.Open(server.Invitation(), func(err error) {
			if err != nil && !server.Redeemed() {
				sayTo(cmd)(fmt.Sprintf("%s: %v; open this address yourself", program[0], err))
				print()
			}
		})
	}
	go eachLine(cmd.InOrStdin(), print)
}

// eachLine calls f for each line of a file. In the background of a terminal it waits until it is in the foreground: a
// read would stop the process.
func eachLine(in io.Reader, f func()) {
	if isTerminal(in) {
		signal.Ignore(unix.SIGTTIN)
	}
	lines := bufio.NewReader(in)
	for {
		_, err := lines.ReadString('\n')
		switch {
		case err == nil:
			f()
		case errors.Is(err, unix.EIO): // in the background
			time.Sleep(time.Second)
		default:
			return
		}
	}
}

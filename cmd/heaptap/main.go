// Command heaptap shows where a Linux program's memory goes: every allocation, with the call stack that made it.
//
// This package holds flags, help and exit statuses, one file per command; what the commands do is in internal.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/spelling"
)

func main() {
	launch.DropPreload()
	log.SetOutput(io.Discard) // net/http notes there what calls return as errors, too
	if len(os.Args) > 1 && (os.Args[1] == "run" || os.Args[1] == launch.RecorderCommand) {
		hurry()
	}
	narrowHelp(os.Stdout)
	os.Exit(execute(os.Args[1:]))
}

// execute runs a command line and returns the exit status.
func execute(args []string) int {
	commands := allCommands
	// Who records short commands waits for each start: the flags of all other commands would take 400 more new pages.
	if len(args) > 0 && args[0] == launch.RecorderCommand {
		commands = []func() *cobra.Command{newRecorderCommand}
	} else if len(args) > 0 && args[0] == "run" {
		commands = []func() *cobra.Command{newRunCommand}
	}
	return executeRoot(newRootCommand(commands), args)
}

func executeRoot(root *cobra.Command, args []string) int {
	root.SetArgs(args)
	command, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.status // the command has printed its messages
	}
	text := oneLine(err)
	var status *launch.StatusError
	var usage *usageError
	code := 1
	switch {
	case errors.As(err, &status):
		code = status.Status
	case errors.As(err, &usage):
		code = launch.StatusFailed
		text += fmt.Sprintf(" (see `%s --help`)", command.CommandPath())
	}
	fmt.Fprintf(os.Stderr, "heaptap: %s\n", text)
	return code
}

// exitError ends the program with a status and without a message.
type exitError struct{ status int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// usageError is an error of the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// oneLine returns the text of an error as one line that is safe for a terminal: errors contain names of files, commands
// and functions, which may be any bytes.
func oneLine(err error) string {
	return escape.Terminal(strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; "))
}

func init() { cobra.AddTemplateFunc("commandList", commandList) }

// newRootCommand makes the root command, with these below it.
func newRootCommand(commands []func() *cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "heaptap COMMAND",
		Short: "Show where a program's memory goes",
		Long: `heaptap shows where a Linux program's memory goes: every allocation, with the full call stack that
made it. It needs no recompilation, no root and no change to the program.`,
		Example: `  heaptap run ./server --port 8080        # record; at the end: a summary, and server.4711.htap
  heaptap report server.4711.htap         # peak, leaks, temporaries and hot spots as text
  heaptap open server.4711.htap           # the same in the browser
  heaptap report --json server.4711.htap  # the same for programs`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	topics := wrapHelp(`"heaptap help COMMAND" explains a command, "heaptap help TOPIC" one of these topics:`) + "\n" +
		wrapHelp(strings.Join(topicNames(), ", ")+".")
	root.SetUsageTemplate(strings.NewReplacer("TOPICS", topics,
		"HELPWIDTH", strconv.Itoa(helpWidth)).Replace(usageTemplate))
	for _, c := range commands {
		cmd := c()
		if cmd.Name() != "run" { // its flags may also come from elsewhere
			cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return checkEffects(cmd, changed(cmd.Flags())) }
		}
		root.AddCommand(cmd)
	}
	for _, c := range append(root.Commands(), root) {
		c.Long, c.Example = fitHelp(c.Long), fitExamples(c.Example)
	}
	completions(root)
	root.SetHelpCommand(newHelpCommand())
	root.Version = version()
	root.SetVersionTemplate("heaptap {{.Version}}\n")
	return root
}

// allCommands make the commands, in the order of the help.
var allCommands = []func() *cobra.Command{
	newRunCommand, newCtlCommand, newRunsCommand, newPsCommand, newOpenCommand, newServeCommand, newReportCommand,
	newTopCommand, newTreeCommand,
	newTimelineCommand, newRiseCommand, newGenerationsCommand, newSQLCommand, newMemoryCommand, newHistCommand,
	newReplayCommand,
	newBlocksCommand, newCompactnessCommand, newFramesCommand, newRegionsCommand, newThreadsCommand,
	newLeaksCommand, newSourceCommand, newGlobalsCommand, newMismatchesCommand, newCheckCommand, newDiffCommand,
	newMergeCommand, newExportCommand, newPushCommand, newImportCommand, newScrubCommand,
	newVerifyCommand, newDumpCommand, newLogCommand, newRepairCommand, newPackCommand, newEnvCommand,
	newAgentCommand, newCacheCommand, newVersionCommand, newCompletionCommand, newManCommand,
	newRecorderCommand, newAttachCommand, newLiveCommand,
}

const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

{{commandList .}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped HELPWIDTH | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

TOPICS{{end}}
`

func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	near := spelling.Nearest(name, names)
	if t := spelling.Nearest(name, topicNames()); near == "" && t != "" {
		near = "help " + t
	}
	if near != "" {
		return usagef("unknown command %q; did you mean %q?", name, near)
	}
	return usagef("unknown command %q; to record a program: heaptap run %s", name, name)
}

// noArgs are the arguments of a command that has none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: unexpected argument %q", cmd.Name(), args[0])
	}
	return nil
}

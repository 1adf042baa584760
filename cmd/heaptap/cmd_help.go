package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns the lines of help texts have at most, except examples.
const helpWidth = 100

// wrapHelp breaks a paragraph into lines.
func wrapHelp(text string) string {
	var out strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+len(word) > helpWidth:
			out.WriteByte('\n')
			width = 0
		default:
			out.WriteByte(' ')
			width++
		}
		out.WriteString(word)
		width += len(word)
	}
	return out.String()
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Explain a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 {
				if t, ok := findTopic(args[0]); ok {
					_, err := fmt.Fprint(cmd.OutOrStdout(), t.text())
					return err
				}
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || found == nil {
				return unknownCommand(root, args[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			names = append(names, topicNames()...)
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for a shell",
		Example: `  heaptap completion bash > /etc/bash_completion.d/heaptap
  heaptap completion zsh > "${fpath[1]}/_heaptap"
  heaptap completion fish > ~/.config/fish/completions/heaptap.fish`,
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("completion: for which shell? bash, zsh or fish")
			}
			out := cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(out)
			case "fish":
				return cmd.Root().GenFishCompletion(out, true)
			}
			return usagef("completion: %s: known are bash, zsh and fish", args[0])
		},
	}
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is how many columns the lines of help texts have at most, except commands in examples: less on a narrow
// terminal.
var helpWidth = 100

// narrowHelp has help texts fit the terminal f, if it is one.
func narrowHelp(f *os.File) {
	if columns, _ := terminalSize(f); columns > 0 {
		helpWidth = min(helpWidth, max(columns, 60))
	}
}

// fitHelp breaks the paragraphs of a text and the rows of its tables anew, if they are wider than the help is.
func fitHelp(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(strings.TrimSuffix(p, "\n"), "\n")
		end := p[len(strings.TrimSuffix(p, "\n")):]
		switch {
		case slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") }):
			paragraphs[i] = strings.Join(fitTable(lines), "\n") + end
		case slices.ContainsFunc(lines, tooWide):
			paragraphs[i] = wrapHelp(p) + end
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

func tooWide(line string) bool { return utf8.RuneCountInString(line) > helpWidth }

// fitTable breaks the rows of a table anew that are wider than the help is. Each line of a row's text begins in the
// same column.
func fitTable(lines []string) (out []string) {
	for len(lines) > 0 {
		column, n := textColumn(lines[0]), 1
		for n < len(lines) && column >= 0 && textColumn(lines[n]) == column && indentation(lines[n]) == column {
			n++
		}
		row := lines[:n]
		lines = lines[n:]
		if column < 0 || !slices.ContainsFunc(row, tooWide) {
			out = append(out, row...)
			continue
		}
		begin, next := row[0][:column], strings.Repeat(" ", column)
		text := ""
		for _, line := range row {
			text += line[column:] + " "
		}
		if strings.HasPrefix(text, "# ") {
			begin, next, text = begin+"# ", next+"# ", text[2:]
		}
		for i, line := range strings.Split(wrapTo(text, helpWidth-len(next)), "\n") {
			if i > 0 {
				begin = next
			}
			out = append(out, begin+line)
		}
	}
	return out
}

// textColumn says where the text of a table's line begins: after the first gap, or else at the line's indentation. It
// is -1 for a line that is a command or a name.
func textColumn(line string) int {
	indent := indentation(line)
	if gap := strings.Index(line[indent:], "  "); gap >= 0 {
		return indent + gap + indentation(line[indent+gap:])
	}
	if indent > 0 && indent < 8 {
		return -1
	}
	return indent
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// fitExamples puts the comments of examples above the commands, if one does not fit beside its command.
func fitExamples(text string) string {
	const mark = "  # "
	lines := strings.Split(text, "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return tooWide(l) && strings.Contains(l, mark) }) {
		return text
	}
	for i, line := range lines {
		if command, comment, ok := strings.Cut(line, mark); ok {
			lines[i] = mark + comment + "\n" + strings.TrimRight(command, " ")
		}
	}
	return strings.Join(lines, "\n")
}

// wrapHelp breaks a paragraph into lines.
func wrapHelp(text string) string { return wrapTo(text, helpWidth) }

func wrapTo(text string, columns int) string {
	var out strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+len(word) > columns:
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

// commandGroups are the questions that bring people to heaptap, and the commands that answer them.
var commandGroups = []struct {
	question string
	names    []string
}{
	{"Record a program", []string{"run", "ctl", "env", "agent"}},
	{"What was recorded?", []string{"runs", "ps"}},
	{"Where is the memory? Who allocates?", []string{"open", "serve", "report", "memory", "top", "tree", "source",
		"threads", "globals", "hist", "blocks", "compactness", "frames", "sql"}},
	{"What leaks, what grows, what is freed wrongly?", []string{"leaks", "generations", "mismatches"}},
	{"When did it happen?", []string{"timeline", "rise", "regions"}},
	{"What has changed? Is it within limits?", []string{"diff", "check"}},
	{"Would another allocator be better?", []string{"replay"}},
	{"Other tools, other people", []string{"export", "push", "import", "scrub", "merge", "pack"}},
	{"The recording itself", []string{"dump", "log", "verify", "repair"}},
}

// commandList lists the commands below a command: those of heaptap by question, the others of a kind last.
func commandList(c *cobra.Command) string {
	var out strings.Builder
	left := c.Commands()
	group := func(title string, names []string) {
		for _, name := range names {
			for i, sub := range left {
				if sub.Name() != name || !sub.IsAvailableCommand() {
					continue
				}
				if title != "" {
					fmt.Fprintf(&out, "\n%s\n", title)
					title = ""
				}
				fmt.Fprintf(&out, "  %-*s %s\n", c.NamePadding(), name, sub.Short)
				left = slices.Delete(slices.Clone(left), i, i+1)
				break
			}
		}
	}
	rest := "Commands:"
	if c == c.Root() {
		for _, g := range commandGroups {
			group(g.question, g.names)
		}
		rest = "heaptap itself"
	}
	var names []string
	for _, sub := range left {
		names = append(names, sub.Name())
	}
	group(rest, names)
	return strings.Join(fitTable(strings.Split(strings.Trim(out.String(), "\n"), "\n")), "\n")
}

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Explain a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 {
				if t, ok := findTopic(args[0]); ok {
					_, err := fmt.Fprint(cmd.OutOrStdout(), fitHelp(t.text()))
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
		Long: `Completion prints a script that lets a shell complete commands, flags and their values: recordings,
processes, metrics, groupings and marks. Bash needs its package bash-completion.`,
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

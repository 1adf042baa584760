package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newManCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "man -o DIR",
		Short:   "Write manual pages",
		Long:    "Man writes heaptap(1) and a page for each command, with the texts of --help.",
		Example: "  heaptap man -o /usr/local/share/man/man1",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "" {
				return usagef("man: where to? For example: heaptap man -o /usr/local/share/man/man1")
			}
			if err := os.MkdirAll(output, 0o755); err != nil {
				return fmt.Errorf("cannot make the folder of the manual pages: %w", err)
			}
			root := cmd.Root()
			pages := append([]*cobra.Command{root}, root.Commands()...)
			for _, c := range pages {
				if !c.IsAvailableCommand() && c != root || c.Name() == "help" {
					continue
				}
				name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
				var b strings.Builder
				manPage(&b, c)
				if err := os.WriteFile(filepath.Join(output, name), []byte(b.String()), 0o644); err != nil {
					return fmt.Errorf("cannot write a manual page: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FOLDER` to write to; it is made if it does not exist")
	return cmd
}

// manPage writes a command's page in the man(7) macros.
func manPage(w io.Writer, c *cobra.Command) {
	title := strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-"))
	fmt.Fprintf(w, ".TH %s 1 \"\" \"heaptap\" \"heaptap manual\"\n.nh\n", title)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", roff(strings.ReplaceAll(c.CommandPath(), " ", "-")), roff(c.Short))
	fmt.Fprintf(w, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if c.Long != "" {
		fmt.Fprint(w, ".SH DESCRIPTION\n")
		for i, paragraph := range strings.Split(c.Long, "\n\n") {
			if i > 0 {
				fmt.Fprint(w, ".PP\n")
			}
			fmt.Fprintln(w, roff(paragraph))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprint(w, ".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprint(w, ".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			kind, usage := pflag.UnquoteUsage(f)
			if kind != "" {
				name += " " + kind
			}
			fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(name), roff(usage))
		})
	}
	if c.Example != "" {
		fmt.Fprintf(w, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	if !c.HasParent() {
		topicSections(w)
	}
	fmt.Fprint(w, ".SH SEE ALSO\n")
	if c.HasParent() {
		fmt.Fprintln(w, ".BR heaptap (1)")
	} else {
		fmt.Fprintln(w, ".BR heaptap-run (1), heaptap-report (1)")
	}
}

// roff escapes text for troff: backslashes, hyphens that must stay hyphens, and lines that would begin a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

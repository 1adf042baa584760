package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
)

// programFlags say which programs of a run a command is about.
type programFlags struct {
	patterns []string
	all      bool
}

// add declares the flags.
func (p *programFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&p.patterns, "process", nil, "of a run, take the programs that match `PATTERN`: a process id, a "+
		"name, or what it works on, with * and ?; may be repeated")
	f.BoolVar(&p.all, "all", false, "of a run, take all programs: their sum, with a row for each in the report")
}

// finder finds the recordings of a command's arguments. What it found is said on stderr.
func (p *programFlags) finder(cmd *cobra.Command) *input.Finder {
	return &input.Finder{Version: version(), Programs: p.patterns, All: p.all, Say: sayTo(cmd)}
}

// sayTo returns a function that tells the user of a command something, on stderr.
func sayTo(cmd *cobra.Command) func(text string) {
	return func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s\n", escape.Terminal(text)) }
}

// open opens the recording that arguments stand for; several stand for their sum.
func (p *programFlags) open(cmd *cobra.Command, args ...string) (*query.Source, error) {
	return p.finder(cmd).One(cmd.Context(), args...)
}

// first is the first argument; "", the last run made here, without one.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// each are the arguments of a command that takes several; without any, the last run made here.
func each(args []string) []string {
	if len(args) == 0 {
		return []string{""}
	}
	return args
}

// findAll finds the recordings of several arguments.
func findAll(ctx context.Context, finder *input.Finder, args []string) (*input.Found, error) {
	all := &input.Found{}
	for _, arg := range each(args) {
		found, err := finder.Find(ctx, arg)
		if err != nil {
			all.Close()
			return nil, err
		}
		all.Add(found)
	}
	return all, nil
}

// oneRun are the arguments of a command that takes one run, or the last one made here.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s: takes one run, and %q is a second one; for example: heaptap %[1]s server.4711.htap",
			cmd.Name(), args[1])
	}
	return nil
}

// words are the words of a command line that name the programs of an argument.
func (p *programFlags) words(arg string) (list []string) {
	for _, pattern := range p.patterns {
		list = append(list, "--process", pattern)
	}
	if p.all {
		list = append(list, "--all")
	}
	if arg != "" {
		list = append(list, arg)
	}
	return list
}

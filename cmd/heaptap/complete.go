package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/timeref"
)

// completions has shells complete what is the same in all commands. Arguments are the runs in the working directory,
// files called .htap, and the processes that are being recorded; of flags, they complete programs, metrics, groupings,
// times and colours. What a command has set itself stays.
func completions(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch {
		case c.Name() == "ctl":
			c.ValidArgsFunction = ctlArguments
		case strings.Contains(c.Use, "[RUN"), c.Name() == "merge", c.Name() == "diff":
			c.ValidArgsFunction = runArguments
		}
		complete(c, "color", []string{"auto", "always", "never"})
		complete(c, "by", query.Groupings())
		complete(c, "metric", question.MetricNames(query.Metrics()))
		if c.Name() == "top" {
			complete(c, "sort", append([]string{"name"}, question.MetricNames(query.Metrics())...))
		}
		complete(c, "mode", []string{"exact", "sampled", "count", "off"})
		complete(c, "stack", []string{"unwind", "enter-exit"})
		for _, flag := range []string{"from", "to", "at"} {
			_ = c.RegisterFlagCompletionFunc(flag, completeTimes) // if there is such a flag
		}
		_ = c.RegisterFlagCompletionFunc("process", processNames)
	}
}

// complete offers words for a flag, if the command has it and it takes words; of a flag for several, for the last one
// of a comma-separated list. What was set before stays.
func complete(cmd *cobra.Command, flag string, words []string) {
	f := cmd.Flags().Lookup(flag)
	if f == nil || f.Value.Type() == "bool" {
		return
	}
	_, many := f.Value.(pflag.SliceValue)
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string,
		cobra.ShellCompDirective) {
		if many {
			return inList(typed, words), cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

// inList offers words for the last one of a comma-separated list.
func inList(typed string, words []string) (out []string) {
	before := typed[:strings.LastIndexByte(typed, ',')+1]
	for _, w := range words {
		if !slices.Contains(strings.Split(before, ","), w) {
			out = append(out, before+w)
		}
	}
	return out
}

// completeTimes offers the moments with names: of the recording too, if it is on the command line already.
func completeTimes(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := []string{"start", "peak", "end"}
	for _, arg := range each(args) {
		if s, err := (&input.Finder{}).One(c.Context(), arg); err == nil {
			words = append(words, timeref.Names(s.Reader.Marks())...)
			_ = s.Close() // it was only read
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

func runArguments(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	if word == "" || strings.Trim(word, "0123456789") != "" {
		if list, err := run.List("."); err == nil && !strings.Contains(word, "/") {
			var names []string
			for _, e := range list {
				if strings.HasPrefix(e.Path, word) && escape.Terminal(e.Path) == e.Path {
					names = append(names, e.Path)
				}
			}
			if len(names) > 0 {
				return append(names, livePids(word)...), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return []string{"htap"}, cobra.ShellCompDirectiveFilterFileExt
	}
	return livePids(word), cobra.ShellCompDirectiveDefault
}

func ctlArguments(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return livePids(word), cobra.ShellCompDirectiveNoFileComp
	}
	var verbs []string
	for _, v := range ctlVerbs {
		if len(args) == 1 {
			verbs = append(verbs, string(v.verb)+"\t"+v.text)
		}
	}
	return verbs, cobra.ShellCompDirectiveNoFileComp
}

// livePids are the processes of this user that are being recorded into the working directory, with their programs.
func livePids(word string) (list []string) {
	entries, err := run.List(".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.Live {
			continue
		}
		titles := map[int]string{} // the last program of a process is the one that runs
		for _, p := range programsOf(e.Path) {
			if p.Running() {
				titles[p.Pid] = p.Title()
			}
		}
		for _, pid := range slices.Sorted(maps.Keys(titles)) {
			if text := fmt.Sprint(pid); strings.HasPrefix(text, word) {
				list = append(list, text+"\t"+escape.Terminal(titles[pid]))
			}
		}
	}
	return list
}

func programsOf(path string) []run.Program {
	r, err := run.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close()
	return r.Programs()
}

// processNames are the programs of the run that a command line names.
func processNames(_ *cobra.Command, args []string, word string) (list []string, _ cobra.ShellCompDirective) {
	r, err := (&input.Finder{}).Run(first(args))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer r.Close()
	seen := map[string]bool{}
	for _, p := range r.Programs() {
		for i, text := range []string{p.Name(), fmt.Sprintf("%d\t%s", p.Pid, escape.Terminal(p.Title()))} {
			safe := i > 0 || escape.Terminal(text) == text // what stands for a name must be the name
			if safe && strings.HasPrefix(text, word) && !seen[text] {
				seen[text] = true
				list = append(list, text)
			}
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

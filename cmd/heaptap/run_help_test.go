package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestRunHelpAll: --help-all shows each flag of heaptap run once, and every name in the groups is that of a flag.
func TestRunHelpAll(t *testing.T) {
	t.Parallel()
	cmd, _, err := newRootCommand(allCommands).Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	if err := cmd.ParseFlags([]string{"--help-all"}); err != nil {
		t.Fatal(err)
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.Help(); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "      --") && !strings.HasPrefix(line, "  -") {
			continue
		}
		_, name, _ := strings.Cut(line, "--")
		shown = append(shown, name[:strings.IndexAny(name, " \n")])
	}
	names := flagNames(cmd)
	slices.Sort(shown)
	if slices.Sort(names); !slices.Equal(shown, names) {
		t.Errorf("shown are %q\nof %q", shown, names)
	}
	for _, g := range append(runFlagGroups, flagGroup{"", commonRunFlags}) {
		for _, name := range g.flags {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s: there is no --%s", g.title, name)
			}
		}
	}
}

// TestFitHelp: on a narrow terminal, paragraphs, tables and examples are narrower, and keep their words.
func TestFitHelp(t *testing.T) { // not parallel: the width is everybody's
	run, _, err := newRootCommand(allCommands).Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	if text := fitHelp(exitStatusTopic); text != exitStatusTopic {
		t.Errorf("the table has changed:\n%s", text)
	}
	helpWidth = 64
	defer func() { helpWidth = 100 }()
	for _, text := range []string{run.Long, exitStatusTopic, recordingsTopic, environmentTopic} {
		narrow := fitHelp(text)
		for line := range strings.Lines(narrow) {
			if len(line) > 65 {
				t.Errorf("%d columns: %s", len(line), line)
			}
		}
		words := func(text string) []string { return strings.Fields(strings.ReplaceAll(text, " # ", " ")) }
		if !slices.Equal(words(narrow), words(text)) {
			t.Errorf("other words:\n%s", narrow)
		}
	}
	table := "  leaks     with --exit-status N: N if anything at all is leaked, else 0\n" +
		"            if it was called rightly\n  heaptap dump --events --threads --modules --frames some.4711.htap\n"
	want := "  leaks     with --exit-status N: N if anything at all is\n" +
		"            leaked, else 0 if it was called rightly\n" +
		"  heaptap dump --events --threads --modules --frames some.4711.htap\n"
	if got := fitHelp(table); got != want {
		t.Errorf("a table:\n%s", got)
	}
	examples := "  heaptap ps   # the processes\n" +
		"  heaptap report server.4711.htap    # peak, leaks and hot spots as text"
	want = "  # the processes\n  heaptap ps\n" +
		"  # peak, leaks and hot spots as text\n  heaptap report server.4711.htap"
	if got := fitExamples(examples); got != want {
		t.Errorf("examples:\n%s", got)
	}
}

// TestHelpFits: what `heaptap help` prints is as wide as the terminal at most.
func TestHelpFits(t *testing.T) {
	helpWidth = 80
	defer func() { helpWidth = 100 }()
	root := newRootCommand(allCommands)
	var out bytes.Buffer
	root.SetOut(&out)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestFlagsWithoutEffect: a flag that only matters together with another one is an error alone; the message says what
// to add or leave out, and with that it is gone.
func TestFlagsWithoutEffect(t *testing.T) {
	t.Parallel()
	type row struct{ wrong, says, right string }
	table := []row{
		{"run --sample 64K true", "--sample has no effect without --mode sampled",
			"run --mode sampled --sample 64K true"},
		{"run --sample 64K --mode exact true", "without --mode sampled", "run --sample 64K --mode off true"},
		{"run --sample-calls 5 --mode count true", "--sample-calls has no effect without --mode sampled",
			"run --sample-calls 5 --mode sampled true"},
		{"run --salt x true", "--salt has no effect without --scrub", "run --salt x --scrub true"},
		{"run --scrub-functions true", "without --scrub", "run --scrub --scrub-functions true"},
		{"run --scrub=false --salt x true", "without --scrub", "run --scrub=true --salt x true"},
		{"run -q --top 3 true", "--top has no effect with --quiet", "run --top 3 true"},
		{"run --check --max-leaked 0 --tolerance 2% true", "without --baseline",
			"run --check --baseline b --tolerance 2% x"},
		{"check --max-leaked 0 --output d f", "--output has no effect without --runs",
			"check --runs 2 --output d --max-leaked 0 -- f"},
		{"check --max-leaked 0 --tolerance 2% f", "--tolerance has no effect without --baseline",
			"check --baseline b --tolerance 2% f"},
		{"check --max-leaked 0 --stack-tolerance 2% f", "without --baseline",
			"check --baseline b --stack-tolerance 2% f"},
		{"check --max-leaked 0 --compare peak f", "without --baseline", "check --baseline b --compare peak f"},
		{"check --max-peak 1G --suppressions s f", "--suppressions has no effect without a limit on leaks",
			"check --max-leaked 0 --suppressions s f"},
		{"check --max-peak 1G --runtime f", "--runtime has no effect without", "check --no-growth --runtime f"},
		{"check --no-mismatches --focus x f", "--focus has no effect on --no-mismatches",
			"check --no-mismatches --focus x --max-peak 1G f"},
		{"run --check --no-mismatches --focus x --max-depth 5 --max-size 1G true", "--focus has no effect",
			"run --check --no-mismatches --focus x --max-bytes 1G true"},
		{"check --no-mismatches --from 10% f", "--from has no effect", "check --no-growth --from 10% f"},
		{"dump --from 1s f", "--from has no effect without --events", "dump --events --from 1s f"},
		{"dump --stacks --to 1s f", "--to has no effect without --events", "dump --stacks --events --to 1s f"},
		{"dump --kind free f", "--kind has no effect without --events", "dump --events --kind free f"},
		{"dump --events --before f", "--before has no effect without --limit", "dump --events --before --limit 5 f"},
		{"log --before f", "--before has no effect without --limit", "log --before --limit 5 f"},
		{"timeline --stack --fold f", "--fold has no effect with --stack", "timeline --fold f"},
		{"frames --at 1s --frames 5 f", "--frames has no effect with --at, which is one picture",
			"frames --frames 5 f"},
		{"export --json f", "--json has no effect without --list", "export --list --json"},
		{"export --list -f pprof", "--format has no effect with --list", "export -f pprof f"},
		{"export --list -o x", "--output has no effect with --list", "export --list"},
		{"export --list --scrub", "--scrub has no effect with --list", "export -f pprof --scrub f"},
		{"export -f pprof --salt x f", "--salt has no effect without --scrub", "export -f pprof --scrub --salt x f"},
		{"push --pyroscope u --events f", "--events has no effect without --clickhouse",
			"push --clickhouse u --events f"},
		{"sql --list --csv", "--csv has no effect with --list", "sql --csv f x"},
		{"sql --list --from 10%", "--from has no effect with --list", "sql --from 10% f x"},
		{"version --json --licenses", "--json has no effect with --licenses", "version --licenses"},
		{"push --parca u --otlp-version x f", "without --otlp", "push --otlp u --otlp-version x f"},
		{"diff --depth 3 a b", "--depth has no effect without --tree", "diff --tree --depth 3 a b"},
		{"diff --threshold 3% a b", "--threshold has no effect without --tree", "diff --tree --threshold 3% a b"},
		{"diff --up a b", "--up has no effect without --tree", "diff --tree --up a b"},
		{"diff --tree --self a b", "--self has no effect with --tree", "diff --self a b"},
		{"diff --static --metric live a b", "--metric has no effect with --static", "diff --static --module x a b"},
		{"diff --at 50% a b", "--at has no effect without --metric live", "diff --metric live --at 50% a b"},
		{"top --at 50% f", "--at has no effect without --metric live", "top --metric bytes,live --at 50% f"},
		{"tree --metric peak --at 50% f", "without --metric live", "tree --metric live-blocks --at 50% f"},
		{"blocks --block 3 --at 50% f", "--at has no effect with --block", "blocks --block 3 f"},
		{"source --at 50% f", "without --metric live", "source --metric live --at 50% f"},
		{"timeline --stack --focus x f", "--focus has no effect with --stack; --from, --to and --thread have one",
			"timeline --stack --thread x f"},
		{"timeline --stack --freed-by x f", "--freed-by has no effect with --stack", "timeline --freed-by x f"},
		{"timeline --stack --top 1 --by thread f", "--by has no effect with --stack", "timeline --stack --top 1 f"},
		{"timeline --at 50% f", "live at all times", "timeline f"},
		{"timeline --stack --csv --steps 5 f", "--steps has no effect with --stack --csv",
			"timeline --csv --steps 5 f"},
		{"timeline --by thread f", "--by has no effect without --top", "timeline --top 1 --by thread f"},
		{"timeline --top 0 --metric bytes f", "--metric has no effect without --top",
			"timeline --top 5 --metric bytes f"},
		{"leaks --suggest --json f", "--json has no effect with --suggest", "leaks --json f"},
		{"leaks --suggest --frames 3 f", "--frames has no effect with --suggest", "leaks --frames 3 f"},
		{"leaks --suggest --limit 3 f", "--limit has no effect", "leaks --limit 3 f"},
		{"leaks --json --frames 3 f", "--frames has no effect with --json", "leaks --json f"},
		{"report --json --frames 3 f", "--frames has no effect with --json", "report --frames 3 f"},
		{"mismatches --json --frames 3 f", "--frames has no effect with --json", "mismatches --frames 3 f"},
		{"hist --json --show sizes f", "--show has no effect with --json", "hist --show sizes f"},
		{"hist --json --show exact --heat time f", "--show has no effect with --json",
			"hist --show exact --heat time f"},
		{"hist --json --by pairs f", "--by has no effect with --json", "hist --json f"},
		{"threads --json --show totals f", "--show has no effect with --json", "threads --show totals f"},
		{"regions --trace --sort highest f", "--sort has no effect with --trace", "regions --sort highest f"},
		{"regions --trace --limit 3 f", "--limit has no effect with --trace", "regions --trace f"},
		{"agent --install d --output x", "--output has no effect with --install", "agent --install d"},
	}
	tested := make(map[string]bool)
	for _, r := range table {
		command, err := checked(t, r.wrong)
		if err == nil || !strings.Contains(err.Error(), r.says) {
			t.Errorf("%s: %v, want an error with %q", r.wrong, err, r.says)
		}
		if _, err := checked(t, r.right); err != nil {
			t.Errorf("%s: %v", r.right, err)
		}
		for f := range strings.FieldsSeq(r.wrong) {
			tested[command+" "+strings.TrimPrefix(strings.TrimPrefix(f, "--"), "-")] = true
		}
	}
	for command, list := range effects {
		if command == "run" || command == "check" {
			list = list[:len(list)-len(gateEffects)]
		}
		for _, e := range list {
			if !slices.ContainsFunc(e.flags, func(name string) bool { return tested[command+" "+name] }) {
				t.Errorf("%s --%s is in no row of the table", command, e.flags[0])
			}
		}
	}
}

// checked parses a command line and checks its flags, without running the command.
func checked(t *testing.T, line string) (command string, err error) {
	t.Helper()
	root := newRootCommand(allCommands)
	cmd, args, err := root.Find(strings.Fields(line))
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return cmd.Name(), checkEffects(cmd, changed(cmd.Flags()))
}

// TestEffectsAreOfFlags: what effects says is about flags that there are.
func TestEffectsAreOfFlags(t *testing.T) {
	t.Parallel()
	root := newRootCommand(allCommands)
	for name, list := range effects {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
		if i < 0 {
			t.Fatalf("no command %s", name)
		}
		known := make(map[string]bool)
		root.Commands()[i].Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		for _, n := range list {
			for _, flag := range n.flags {
				if !known[flag] {
					t.Errorf("%s has no --%s", name, flag)
				}
			}
		}
	}
}

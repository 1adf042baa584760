package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/query"
)

// An effect says when flags matter. What would have no effect is an error: the user meant something by it.
type effect struct {
	flags  []string
	matter func(f *pflag.FlagSet) bool
	why    string // they have no effect: without what, which is to be added, or with what else
}

// effects are the flags of each command that only matter together with others, or without them. Three flags are about
// text only, and may stand beside --json: --color, --exact (JSON is exact), and --quiet.
//
// Flags that matter only in some modes of recording are not here, except those of samples: heaptap ctl and the program
// may change the mode.
var effects = map[string][]effect{
	"run": append([]effect{
		{[]string{"sample", "sample-calls"}, func(f *pflag.FlagSet) bool { return is(f, "mode", "sampled", "off") },
			"without --mode sampled"},
		{[]string{"scrub-functions", "salt"}, with("scrub"), "without --scrub"},
		{[]string{"top"}, func(f *pflag.FlagSet) bool { return !on(f, "quiet") || on(f, "check") },
			"with --quiet: no summary is printed"},
	}, gateEffects...),
	"check": append([]effect{
		{[]string{"output"}, with("runs"), "without --runs N -- COMMAND"},
	}, gateEffects...),
	"blocks": {
		{append([]string{"at", "sort", "address", "limit", "skip"}, filterFlags...), without("block"),
			"with --block, which tells about one block"},
	},
	"dump": {
		{append([]string{"from", "to"}, selectionFlags...), with("events"), "without --events: they select events"},
		beforeEffect,
	},
	"log":    {beforeEffect},
	"frames": {{[]string{"frames"}, without("at"), "with --at, which is one picture"}},
	"export": {
		{[]string{"json"}, with("list"), "without --list; JSON Lines of a recording: heaptap export -f jsonl"},
		{[]string{"format", "output", "by", "metric", "at", "scrub", "scrub-functions", "salt"}, without("list"),
			"with --list: no recording is exported"},
		{[]string{"scrub-functions", "salt"}, with("scrub"), "without --scrub"},
	},
	"push": {
		{[]string{"events"}, with("clickhouse"), "without --clickhouse: profiles have no events"},
		{[]string{"otlp-version"}, with("otlp"), "without --otlp"},
	},
	"diff": {
		{[]string{"by", "metric", "tree", "self", "scale", "fold", "from", "to", "thread", "freed-by", "region", "size",
			"old-size", "lifetime", "focus", "ignore", "hide", "at"}, without("static"),
			"with --static, which compares variables"},
		{[]string{"threshold", "depth", "up"}, with("tree"), "without --tree"},
		{[]string{"self"}, without("tree"), "with --tree, which is sorted by what has changed within each node"},
		atEffect,
	},
	"top":    {atEffect},
	"tree":   {atEffect},
	"source": {atEffect},
	"timeline": {
		{[]string{"freed-by", "region", "module", "size", "old-size", "lifetime", "focus", "ignore", "hide", "by",
			"metric", "fold"},
			without("stack"), "with --stack; --from, --to and --thread have one"},
		{[]string{"at"}, never, "here: a timeline shows what is live at all times"},
		{[]string{"steps"}, func(f *pflag.FlagSet) bool { return !on(f, "stack") || !on(f, "csv") },
			"with --stack --csv, which prints each time that a stack grew"},
		{[]string{"by", "metric"}, func(f *pflag.FlagSet) bool { return !is(f, "top", "0") },
			"without --top, the number of groups"},
	},
	"leaks": {
		{[]string{"json", "frames", "limit", "skip"}, without("suggest"), "with --suggest, which prints all rules"},
		framesEffect,
	},
	"report": {framesEffect},
	"sql": {{append([]string{"query", "engine", "limit", "csv", "color", "process", "all"}, filterFlags...),
		without("list"), "with --list: no recording is asked"}},
	"mismatches": {framesEffect},
	"hist":       {{[]string{"show", "by"}, without("json"), "with --json, which has all parts and tables"}},
	"threads":    {{[]string{"show"}, without("json"), "with --json, which has all parts"}},
	"regions": {
		{[]string{"sort", "limit", "skip"}, without("trace"), "with --trace, which has all regions in order"},
	},
	"version": {{[]string{"json"}, without("licenses"), "with --licenses, which is text"}},
	"agent":   {{[]string{"output"}, without("install"), "with --install"}},
}

// gateEffects are those of the flags that set limits.
var gateEffects = []effect{
	{[]string{"tolerance", "stack-tolerance", "compare"}, with("baseline"), "without --baseline"},
	{[]string{"suppressions", "runtime"}, with("max-leaked", "max-leaked-blocks", "no-growth", "baseline"),
		"without a limit on leaks, for example --max-leaked 0"},
	{filterFlags, func(f *pflag.FlagSet) bool { return !on(f, "no-mismatches") || limited(f) },
		"on --no-mismatches, which judges the whole recording; add a limit, for example --max-leaked 0"},
}

// beforeEffect is that of the direction in which the log is read.
var beforeEffect = effect{[]string{"before"}, with("limit"), "without --limit, the number of events"}

// atEffect is that of the time at which something is live.
var atEffect = effect{[]string{"at"}, func(f *pflag.FlagSet) bool {
	m, ok := f.Lookup("metric").Value.(pflag.SliceValue)
	return ok && slices.ContainsFunc(m.GetSlice(), func(name string) bool {
		return slices.Contains([]string{"live", "live-blocks", "kept", "kept-blocks"}, name)
	})
}, "without --metric live, live-blocks, kept or kept-blocks"}

var framesEffect = effect{[]string{"frames"}, without("json"), "with --json, which has all frames"}

// limited reports whether there is a limit to which filters apply.
func limited(f *pflag.FlagSet) bool {
	return with("no-growth", "baseline")(f) ||
		slices.ContainsFunc(check.Limited, func(m query.Metric) bool { return on(f, "max-"+m.String()) })
}

func never(*pflag.FlagSet) bool { return false }

// with returns whether one of these flags is given.
func with(names ...string) func(*pflag.FlagSet) bool {
	return func(f *pflag.FlagSet) bool {
		return slices.ContainsFunc(names, func(name string) bool { return on(f, name) })
	}
}

func without(name string) func(*pflag.FlagSet) bool {
	return func(f *pflag.FlagSet) bool { return !on(f, name) }
}

// on reports whether a flag is given, and not switched off.
func on(f *pflag.FlagSet, name string) bool {
	flag := f.Lookup(name)
	return flag != nil && flag.Changed && (flag.Value.Type() != "bool" || flag.Value.String() == "true")
}

// is reports whether a flag has one of these values.
func is(f *pflag.FlagSet, name string, values ...string) bool {
	return slices.Contains(values, f.Lookup(name).Value.String())
}

// changed returns the flags that were given so far.
func changed(f *pflag.FlagSet) (names []string) {
	f.Visit(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// checkEffects returns an error if one of these flags has no effect.
func checkEffects(cmd *cobra.Command, names []string) error {
	for _, n := range effects[cmd.Name()] {
		for _, name := range n.flags {
			if slices.Contains(names, name) && !n.matter(cmd.Flags()) {
				return usagef("%s: --%s has no effect %s", cmd.Name(), name, n.why)
			}
		}
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/moment"
)

// topic is a subject of `heaptap help` that is no command.
type topic struct {
	name string
	text func() string
}

// topics are all of them.
func topics() []topic {
	return []topic{
		{"metrics", func() string {
			return `Metrics of the blocks that count, by the call stack that allocated them; docs/queries.md defines them precisely.

` + metricHelp() + `
The first metric that --metric names sorts. heaptap check has limits for peak, own-peak, leaked, leaked-blocks, allocations, bytes, temporary and
temporary-bytes: --max-METRIC.
`
		}},
		{"filters", func() string {
			q, f := &question{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			q.filters(f)
			return `All commands that ask a recording take these. Those of one kind that are repeated add up; different kinds must all hold.

` + f.FlagUsages() + `
A block belongs to the thread and the call stack that allocated it. "heaptap help times" tells what a TIME is.
`
		}},
		{"times", func() string {
			return `A TIME is ` + moment.Help + `.

  --from 2s --to 3s        what happened later than 2 s, and up to 3 s after the start
  --from 50%               the second half
  --to peak                until most memory was live
  --from peak --to end     after that

Of two ranges that meet, each event is in one. --at TIME is the moment of the metrics live and live-blocks.
`
		}},
		{"suppressions", func() string {
			return `heaptap leaks and heaptap check take files of rules by --suppressions FILE, as LeakSanitizer and heaptrack read them:

  # comment
  leak:PATTERN

The pattern is searched for in the function, linkage name, source file and module of every frame of a leak's call stack. * stands for anything; ^ and
$ tie it to the beginning and the end: leak:^init_cache$ is this function, leak:libfoo.so every function of that file. Rules of
other kinds (thread:, race:) are skipped, so that a file may be shared.

  heaptap leaks --suggest server.4711.htap > known.supp     a rule for each leak there is
  heaptap check --max-leaked 0 --suppressions known.supp server.4712.htap
`
		}},
		{"exit-status", func() string {
			return `heaptap run       the program's own status; 128+N if signal N killed it; 125 heaptap failed or was called wrongly, 126 the command
                  cannot be executed, 127 there is no such command
  with --check    the program's own if it is not 0; else 1 if a limit does not hold, 125 if that cannot be told
heaptap check     0 every limit holds, 1 one does not, 125 it cannot be told: a recording cannot be read, or the command line is wrong
heaptap leaks     with --exit-status N: N if anything is leaked
all others        0; 1 if they failed; 125 if they were called wrongly
`
		}},
		{"environment", func() string {
			return `HEAPTAP_DIR           without a recorder: the folder for spools; default: the working directory
HEAPTAP_SPILL_LIMIT   without a recorder: how much may be written to the spill file, as 512m or 4g
XDG_CACHE_HOME        below it, in heaptap/, lies the unpacked library
NO_COLOR              no colours; --color always overrides it
TERM                  dumb: no colours
GITHUB_WORKSPACE      the folder that file names begin in, in the annotations of heaptap check --format github

heaptap run adds LD_PRELOAD, HEAPTAP_RUN, HEAPTAP_SPILL_DIR and HEAPTAP_SPILL_LIMIT to the program's environment.
`
		}},
	}
}

// findTopic returns the topic of that name.
func findTopic(name string) (topic, bool) {
	for _, t := range topics() {
		if t.name == name {
			return t, true
		}
	}
	return topic{}, false
}

func topicNames() []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return names
}

// topicSections writes the topics as sections of a manual page.
func topicSections(w io.Writer) {
	for _, t := range topics() {
		fmt.Fprintf(w, ".SH %s\n.nf\n%s.fi\n", roff(strings.ToUpper(t.name)), roff(t.text()))
	}
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/timeref"
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
			q, f := &queryFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
			q.filters(f)
			return `All commands that ask a recording take these. Those of one kind that are repeated add up; different kinds must all hold.

` + f.FlagUsages() + `
A block belongs to the thread and the call stack that allocated it. "heaptap help times" tells what a TIME is.
`
		}},
		{"times", func() string {
			return `A TIME is ` + timeref.Help + `.

  --from 2s --to 3s        what happened later than 2 s, and up to 3 s after the start
  --from 50%               the second half
  --to peak                until most memory was live
  --from peak --to end     after that
  --from load --to load#2  from the first mark "load" to the second (heaptap help controls); mark:NAME if the name is a TIME itself

Of two ranges that meet, each event is in one. --at TIME is the moment of the metrics live and live-blocks.
`
		}},
		{"monitors", func() string {
			return `heaptap run --monitor NAME[:KEY=VALUE,...] watches a program without a change of it. HEAPTAP_MONITOR has several with semicolons between.

While the program runs:
  periodic:every=100ms     CSV of steps: time, requested, live, peak, largest, counts; to NAME.periodic.csv beside the recording

At the end, on stderr, or in file=NAME (%p is the process's id):
  summary                  requested, peak, live, counts
  histogram                powers of two: requested, usable, freed
  regions:sort=highest     a line for each region (heaptap regions); also region=NAME, format=text, json or trace
  budget:region=load,peak=1M
                           regions that exceed allocations, requested, added, peak or largest, with the call stack; then the exit status is 1
  transient                what was allocated and freed again within a region, by function; needs --free-stacks

At once, before malloc returns:
  threshold:min=1M,do=abort
                           at an allocation between min and max bytes, or at live above so many bytes, after skip=N of these:
                           do=print the call stack, as all do, signal SIGTRAP, or abort; times=N: act so often
  threshold:live=2G,command=gdb -p $HEAPTAP_PID -batch -ex bt
                           run a command, which is last and may have commas in it, while the thread waits, timeout=5s at most;
                           HEAPTAP_PID, _TID, _SIZE, _LIVE and _ADDRESS are in its environment

A library of yours:
  ./mine.so:key=value      docs/api.md has a template
`
		}},
		{"controls", func() string {
			return `What is recorded, and what gets a name, while a program runs.

Which programs (heaptap run; the variables also under plain LD_PRELOAD):
  --children none          HEAPTAP_CHILDREN: only COMMAND and what it becomes by exec; a pattern: those and children whose executable matches
  --exe 'worker*'          HEAPTAP_EXE: only programs whose executable matches, by name, or by path if there is a / in the pattern
  --ranks 0,4-7            HEAPTAP_RANKS: of an MPI job, only these, by PMI_RANK, PMIX_RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID, PALS_RANKID
  --min-events 1000        keep no file of a child that had fewer events
  -o %n.%r.%h.htap         %r is the rank, or none; %h the host

A recording under way, by the id of a process that is recorded, of heaptap run, or of its recorder:
  heaptap ctl 4711 status | stop | start | mode sampled | mode exact | mark NAME | flush

Marks are moments with names:
  heaptap ctl 4711 mark NAME                     now
  --mark-every 10s                               "every 10s"
  --mark-on SIGUSR1; kill -USR1 PID              when heaptap run or its recorder gets the signal; COMMAND does not
  --mark-when 'rss>2GiB'                         each time that it becomes true
Conditions: rss, virt, live, stack (bytes, > or <), system-free (bytes), allocations (a number); rss, virt, live and system-free also as a share of the
machine's memory: system-free<5%. live, allocations and stack are looked at with every event; the others whenever the process's memory is read, every 10 ms
and, as a run gets longer, up to every second. A condition that was true becomes true anew once its measure has been a tenth of the limit
beyond it: rss>2GiB again after less than 1.8 GiB.
Each change of mode is a mark, too: mode off, mode exact ...

A mark is a TIME wherever one is taken: --from NAME --to NAME#2 (the second of that name), NAME#last. mark:NAME is never anything else.

  --config FILE            flags from a file (TOML): mark-when = ["rss>2GiB", "live>1GiB"]
  HEAPTAP_MARK_WHEN=...    any flag of heaptap run from the environment; several values with commas
A flag goes before a variable, a variable before the file; --print-config shows what holds, in the file's form.
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
		{"modes", func() string {
			return `heaptap run --mode says what is recorded:

  exact      every event with its call stack
  sampled    allocations chosen at random, --sample 512KiB: one for each 512 KiB on average, so that large ones are all but certain; or
             --sample-calls N: one of N calls. What they stand for is estimated without bias; reports tell the standard errors
  count      calls, bytes and sizes per function and thread; no call stacks, no blocks
  off        nothing

  --stack-min SIZE     call stacks only of allocations of at least SIZE; all others have one in common
  --max-depth N        the N innermost frames of each call stack; what is above them is one frame
  --time-calls         the time inside of the allocation functions, too; two readings of the clock for each call
  --start off          in the mode that is given, but not until heaptap ctl or the program says so
  --start-after WHEN   not before that much time, or that many allocations
  --stop-after WHEN    no longer than that, from the beginning of recording on

While nothing is recorded, deallocations of recorded blocks are. WHEN is a time, as 500ms, 10s, 5m, or a number of allocations, as 20000 or 1M.
`
		}},
		{"environment", func() string {
			return `HEAPTAP_DIR           without a recorder: the folder for spools; default: the working directory
HEAPTAP_...           each flag of heaptap run: HEAPTAP_MARK_EVERY is --mark-every; under plain LD_PRELOAD those that need no recorder
HEAPTAP_SPILL_LIMIT   without a recorder: how much may be written to the spill file, as 512m or 4g
CLICKHOUSE_USER       user and password of heaptap push --clickhouse, if the URL has none
CLICKHOUSE_PASSWORD
XDG_CACHE_HOME        below it, in heaptap/, lie the unpacked library and the names of functions (heaptap cache)
DEBUGINFOD_URLS       servers that are asked for debug information that is not here, by build id; DEBUGINFOD_CACHE_PATH, _TIMEOUT, _MAXTIME and
                      _MAXSIZE as for gdb
NO_COLOR              no colours; --color always overrides it
TERM                  dumb: no colours
GITHUB_WORKSPACE      the folder that file names begin in, in the annotations of heaptap check --format github

heaptap run adds LD_PRELOAD, and for its agents HEAPTAP_RUN, HEAPTAP_RUN_CHANGES, HEAPTAP_RUN_FILTERS, HEAPTAP_SPILL_DIR and
HEAPTAP_SPILL_LIMIT, to the program's environment.
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

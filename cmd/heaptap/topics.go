package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/timeref"
)

// topic is a subject of `heaptap help` that is not a command. Its lines are at most 100 columns wide.
type topic struct {
	name string
	text func() string
}

// topics returns all of them, in the order of the manual page.
func topics() []topic {
	fixed := func(text string) func() string { return func() string { return text } }
	return []topic{
		{"metrics", metricsTopic}, {"filters", filtersTopic}, {"times", timesTopic}, {"monitors", fixed(monitorsTopic)},
		{"controls", fixed(controlsTopic)}, {"frames", fixed(framesTopic)}, {"recordings", fixed(recordingsTopic)},
		{"suppressions", fixed(suppressionsTopic)},
		{"exit-status", fixed(exitStatusTopic)}, {"modes", fixed(modesTopic)}, {"environment", fixed(environmentTopic)},
	}
}

func metricsTopic() string {
	return `Metrics of the blocks that count, by the call stack that allocated them. docs/queries.md has the
exact definitions.

` + metricHelp() + `
The first metric of --metric sorts. heaptap check has limits for peak, own-peak, leaked,
leaked-blocks, allocations, bytes, temporary and temporary-bytes: --max-METRIC.
`
}

func filtersTopic() string {
	q, f := &queryFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
	q.filters(f)
	return `All commands that ask a recording take these. Repeated values of one flag are alternatives;
different flags must all hold.

` + f.FlagUsagesWrapped(helpWidth) + `
A block belongs to the thread and the call stack that allocated it. "heaptap help times" explains
TIME.
`
}

func timesTopic() string {
	return wrapHelp("A TIME is "+timeref.Help+".") + `

  --from 2s --to 3s        what happened after 2 s, up to 3 s after the start
  --from 50%               the second half
  --to peak                until most memory was live
  --from peak --to end     after that
  --from load --to load#2  from the first mark "load" to the second (heaptap help controls);
                           mark:NAME if the name is a TIME itself

Ranges that meet share no event. --at TIME is the moment of the metrics live and live-blocks.
`
}

const monitorsTopic = `heaptap run --monitor NAME[:KEY=VALUE,...] watches an unchanged program. HEAPTAP_MONITOR may hold
several monitors, separated by semicolons.

While the program runs:
  periodic:every=100ms     CSV of steps: time, requested, live, peak, largest, counts; to
                           NAME.periodic.csv beside the recording

At the end, on stderr, or in file=NAME (%p is the process id):
  summary                  requested, peak, live, counts
  histogram                powers of two: requested, usable, freed
  regions:sort=highest     a line for each region (heaptap regions); also region=NAME, and
                           format=text, json or trace
  budget:region=load,peak=1M
                           regions that exceed allocations, requested, added, peak or largest,
                           with the call stack; the exit status is then 1
  transient                what was allocated and freed within a region, by function; needs
                           --free-stacks

At once, before malloc returns:
  threshold:min=1M,do=abort
                           acts on an allocation of min to max bytes, or when more than live bytes
                           are live, after skip=N such events. do=print prints the call stack,
                           do=signal also raises SIGTRAP, do=abort also aborts. times=N: act N times
  threshold:live=2G,command=gdb -p $HEAPTAP_PID -batch -ex bt
                           runs a command while the thread waits, for timeout=5s at most. command
                           comes last and may contain commas. HEAPTAP_PID, _TID, _SIZE, _LIVE and
                           _ADDRESS are in its environment

A library of yours:
  ./mine.so:key=value      docs/api.md has a template
`

const recordingsTopic = `RUN, in the help of commands, is one of these:

  server.4711.htap         a run: a folder, or one file
  server.htap, x.spool     a recording; the spool of a program that ran without a recorder; another
                           tool's file (heaptap help import)
  4711                     a process that is being recorded, or that a run made here has recorded
  (nothing)                the last run made in the working directory; stderr says which it is

Of a run, commands take the program that you named, through shells, env and the like. If the run does
not tell which that is, they take the one with the largest resident set, and say so; heaptap check
then ends with status 125 and names the candidates.

  --process PATTERN        other programs, by process id, name, or what they work on (a script, a
                           source file), with * and ?; several programs are summed up
  --all                    the sum of all programs
  heaptap ps               # the programs, as a tree
  heaptap runs             # the runs in a folder; --prune removes old ones

Several runs, such as those of an MPI job: top, tree and leaks answer for their sum, report, check and
verify for each. heaptap check and verify also take each of several programs on its own. A sum has no
single events; commands that need them say so. What still runs is first brought up to date.
`

const controlsTopic = `What is recorded, and which moments get names, while a program runs.

Which programs (flags of heaptap run; the variables also work with plain LD_PRELOAD):
  --children none          HEAPTAP_CHILDREN: only COMMAND and the programs it becomes by exec; with
                           a pattern: also children whose executable matches
  --exe 'worker*'          HEAPTAP_EXE: only programs whose executable matches, by name, or by path
                           if the pattern has a /
  --ranks 0,4-7            HEAPTAP_RANKS: only these ranks of an MPI job, by PMI_RANK, PMIX_RANK,
                           OMPI_COMM_WORLD_RANK, SLURM_PROCID or PALS_RANKID
  --min-events 1000        keep no file of a child with fewer events
  -o %n.%r.%h.htap         the name; %r is the rank, or none, %h the host. With %n (the program's
                           name) or %p (process id) each program gets a file of its own

A recording under way, by the id of a recorded process, of heaptap run, or of its recorder:
  heaptap ctl 4711 status | stop | start | mode sampled | mode exact | mark NAME | flush

Marks are moments with names:
  heaptap ctl 4711 mark NAME             # now
  --mark-every 10s                       "every 10s"
  --mark-on SIGUSR1; kill -USR1 PID      when heaptap run or its recorder gets the signal; COMMAND
                                         does not get it
  --mark-when 'rss>2GiB'                 each time that it becomes true
Conditions: rss, virt, live, stack (bytes, > or <), system-free (bytes), allocations (a number).
rss, virt, live and system-free may also be a share of the machine's memory: system-free<5%. live,
allocations and stack are checked at every event; the others whenever the process's memory is read:
every 10 ms, in longer runs less often, down to once a second. A condition that was true can become
true again after its measure was a tenth of the limit away from it: rss>2GiB after less than
1.8 GiB.
Each change of mode is a mark, too: mode off, mode exact ...

A mark can be used wherever a TIME is expected: --from NAME --to NAME#2 (the second of that name),
NAME#last. mark:NAME is always a mark.

  --config FILE            flags from a file (TOML): mark-when = ["rss>2GiB", "live>1GiB"]
  HEAPTAP_MARK_WHEN=...    any flag of heaptap run from the environment; several values are
                           separated by commas
The command line overrides variables, and these override the file. --print-config shows the result,
in the file's form.
`

const framesTopic = `report, leaks, top, tree and the summary of heaptap run show the frames of your own code, and count
the rest. "insert (4 within)" is the function insert, and four frames of libraries below it.

Own code, which is never folded:
  the main executable
  files with sources below the current folder
  --own PATTERN            functions, files and sources that match
Folded, wherever they are:
  the standard libraries of C, C++, Rust and Go, and interpreters
  wrappers around the allocator: xmalloc, g_malloc, sqlite3Malloc, operator new ...
  --library PATTERN        functions, files and sources that match
Everything else is shown as far as there is room. A call stack without any own code shows its three
innermost frames that are not wrappers, and the outermost. Rows that would look equal show the
innermost frame in which they differ.

  --frames all             every frame
  --frames 20              at most 20 lines of each call stack (report, leaks)

A PATTERN is compared with the function (boost::*), the file that contains it (libQt*) and the path
of its source (*/vendor/*); * stands for anything. HEAPTAP_OWN and HEAPTAP_LIBRARY hold patterns,
too, separated by commas, and so does the file that HEAPTAP_CONFIG names (TOML):
library = ["boost::*"].

Only text is folded. Groups, filters, suppressions, exports and JSON have whole call stacks.
`

const suppressionsTopic = `heaptap leaks and heaptap check read files of rules with --suppressions FILE, in the form of
LeakSanitizer and heaptrack:

  # comment
  leak:PATTERN

A leak is suppressed if the pattern occurs in the function, linkage name, source file or module of
any frame of its call stack. * stands for anything; ^ and $ match the beginning and the end:
leak:^init_cache$ is this function, leak:libfoo.so every function of that file, leak:cache.c:31$ this
line. Rules of other kinds (thread:, race:) are skipped, so that a file may be shared.

A rule that matches main, or another function with which a thread begins, would hide new leaks, too.
It is refused without --broad. The output says what each rule hid.

  heaptap leaks --suggest server.4711.htap > known.supp     # a rule for each leak there is
  heaptap check --max-leaked 0 --suppressions known.supp server.4712.htap
`

const exitStatusTopic = `heaptap run       the program's own status; 128+N if signal N killed it; 125 if heaptap
                  failed or was called wrongly, 126 if the command cannot be executed, 127 if it
                  does not exist
  with --check    the program's own if it is not 0; else 1 if a limit does not hold, 125 if that
                  cannot be determined
heaptap check     0 if every limit holds, 1 if one does not, 125 if that cannot be determined: a
                  recording cannot be read, a filter matches nothing, a suppression is too broad, it
                  is not clear which of several programs is meant, or the command line is wrong
heaptap leaks     with --exit-status N: N if anything is leaked
all others        0; 1 if they failed; 125 if they were called wrongly
`

const modesTopic = `heaptap run --mode says what is recorded:

  exact      every event with its call stack
  sampled    allocations chosen at random, --sample 512KiB: one for each 512 KiB on average, so that
             large ones are almost certain to be chosen; or --sample-calls N: one of N calls. Totals
             are estimated without bias; reports show the standard errors
  count      calls, bytes and sizes per function and thread; no call stacks, no blocks
  off        nothing

  --stack-min SIZE     call stacks only of allocations of at least SIZE; the others share one
  --max-depth N        the N innermost frames of each call stack; the outer ones become one frame
  --time-calls         measure the time in allocation functions; each call reads the clock twice
  --start off          in the given mode, but not until heaptap ctl or the program says so
  --start-after WHEN   not before that much time, or that many allocations
  --stop-after WHEN    no longer than that, counted from the beginning of recording

While nothing is recorded, deallocations of recorded blocks still are. WHEN is a time, such as
500ms, 10s or 5m, or a number of allocations, such as 20000 or 1M.
`

const environmentTopic = `HEAPTAP_DIR           without a recorder: the folder for spools; default: the working
                      directory
HEAPTAP_...           each flag of heaptap run: HEAPTAP_MARK_EVERY is --mark-every; with plain
                      LD_PRELOAD those that need no recorder
HEAPTAP_SPILL_LIMIT   without a recorder: how much may be written to the spill file, such as 512m
                      or 4g
CLICKHOUSE_USER       user and password of heaptap push --clickhouse, if the URL has none
CLICKHOUSE_PASSWORD
XDG_CACHE_HOME        its folder heaptap/ holds the unpacked library and the names of functions
                      (heaptap cache)
DEBUGINFOD_URLS       servers that are asked, by build id, for debug information that is not on this
                      machine; DEBUGINFOD_CACHE_PATH, _TIMEOUT, _MAXTIME and _MAXSIZE as for gdb
HEAPTAP_OWN           patterns of own code and of libraries, separated by commas: --own and --library
HEAPTAP_LIBRARY       of all commands that show call stacks (heaptap help frames)
HEAPTAP_CONFIG        a file of flags, for heaptap run; the others read own and library from it
BROWSER               the command by which heaptap open shows an address
COLUMNS               the width of text that does not go to a terminal, 80 to 250
NO_COLOR              no colours; --color always overrides it
TERM                  dumb: no colours
GITHUB_WORKSPACE      the folder that file names are relative to in the annotations of
                      heaptap check --format github

heaptap run adds LD_PRELOAD to the program's environment, and for its agents HEAPTAP_RUN,
HEAPTAP_RUN_CHANGES, HEAPTAP_RUN_FILTERS, HEAPTAP_SPILL_DIR and HEAPTAP_SPILL_LIMIT.
`

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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/notes"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/internal/replaychart"
	"github.com/heaptap/heaptap/internal/timeref"
	"github.com/heaptap/heaptap/internal/view"
)

// replayFlags are the flags of heaptap replay.
type replayFlags struct {
	queryFlags
	allocators                     []string
	runs                           int
	touch, speed, players, ordered string
	whatIf                         []string
	chart, html                    string
	save                           bool
}

// mostPlayers bounds --threads.
const mostPlayers = 10_000

func newReplayCommand() *cobra.Command {
	q := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay [flags] [RUN]",
		Short: "Play the recorded calls against other allocators, and compare them",
		Long: `Replay makes the calls of a recording once more, against each of the allocators: one thread for each
recorded thread, started when that has its first call, and ended when that ended. Blocks that one
thread hands to another are freed after their allocation, and threads stay within 10,000 calls of the
recorded order, or 1,000,000 while time is measured. Printed are, for each allocator: the time of a
call, percentiles from separate runs, processor time, the resident set at its peak and on average, page
faults, system calls for memory, and what stays resident after all blocks were freed. * marks the best.
What the player itself costs is measured with an allocator that does nothing, and subtracted.

A recording does not say which pages of a block the program wrote to, unless it was made with run
--residency. So memory is an interval: from a write to the first byte of each block to one to each of its
pages. With --residency it is one figure, with those pages that were in memory.

--what-if tries a change of the program before anybody makes it. KIND=STACK names call stacks as --focus
does. pool: their blocks come from pools of each thread's own. reserve: what they grow by realloc is
allocated as large as it gets. drop-temporaries: allocations that are freed before the thread's next one
are not made. Both programs are played, the recorded and the changed one.

An allocator is glibc, jemalloc, mimalloc or tcmalloc, or the path of a library. Options follow after
colons, and are set in the player's environment.`,
		Example: `  heaptap replay server.4711.htap
  heaptap replay --allocators glibc,glibc:MALLOC_ARENA_MAX=2,jemalloc:MALLOC_CONF=narenas:4 server.4711.htap
  heaptap replay --allocators glibc,./libmine.so --runs 11 --touch all server.4711.htap
  heaptap replay --what-if reserve=Parser::parse server.4711.htap
  heaptap replay --chart allocators.svg server.4711.htap
  heaptap replay --html allocators.html server.4711.htap
  heaptap replay --save server.4711.htap
  heaptap replay --from 20% --to 90% --speed recorded server.4711.htap
  heaptap replay --json server.4711.htap | jq '.allocators[] | {name, rss: .touch_first.peak_rss_bytes.median}'`,
		Args: oneRun,
	}
	f := cmd.Flags()
	f.StringArrayVar(&q.allocators, "allocators", nil, "play against these `ALLOCATORS`, a list with commas; default: "+
		"glibc, and those of jemalloc, mimalloc and tcmalloc that are installed; may be repeated")
	f.IntVar(&q.runs, "runs", 5, "run the player `N` times with each allocator, in turns")
	f.StringVar(&q.touch, "touch", "", "write to `WHAT`: none, first (the first byte of each block), all (all of "+
		"its pages) or recorded (those that were in memory, of a run with --residency); default: first, and for "+
		"memory recorded, or both first and all")
	f.StringVar(&q.speed, "speed", "max", "play at this `SPEED`: max, or recorded (with the pauses that the program "+
		"made)")
	f.StringVar(&q.players, "threads", "recorded", "play the threads beside the main one in `N` threads; recorded: "+
		"each in one of its own")
	f.StringVar(&q.ordered, "order", string(replay.Window), "keep threads in the recorded `ORDER`: window (within "+
		"10,000 calls; 1,000,000 while time is measured), total (exactly; one thread at a time) or free (only "+
		"blocks are handed over in order)")
	f.StringArrayVar(&q.whatIf, "what-if", nil, "also play the calls of a changed program: `KIND=STACK`, where "+
		"KIND is pool, reserve or drop-temporaries, and STACK a regular expression as that of --focus; may be "+
		"repeated; the allocator is then glibc, unless --allocators says more")
	f.StringVar(&q.From, "from", "start", "play what was called after `TIME`: "+timeref.Help+"; blocks that are live "+
		"then are allocated first, which is not measured")
	f.StringVar(&q.To, "to", "end", "play up to `TIME`")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	f.StringVar(&q.chart, "chart", "", "also write a picture (SVG) to `FILE`: the resident sets over time, and bars")
	f.StringVar(&q.html, "html", "", "also write a page (HTML) to `FILE`: the picture and the tables, "+
		"to be read without heaptap")
	f.BoolVar(&q.save, "save", false, "keep the result beside the run, for heaptap open")
	q.looks(f)
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) }
	complete(cmd, "allocators", replay.DefaultAllocators)
	complete(cmd, "touch", replay.Touches)
	complete(cmd, "speed", []string{"max", "recorded"})
	complete(cmd, "order", replay.Orders)
	complete(cmd, "what-if", kindsWith("="))
	return cmd
}

// options reads the flags.
func (q *replayFlags) settings(cmd *cobra.Command) (o replay.Options, s replay.Settings, err error) {
	s = replay.Settings{Runs: q.runs, Touch: replay.Touch(q.touch)}
	o = replay.Options{Order: replay.Order(q.ordered), Timed: q.speed == "recorded"}
	switch {
	case q.runs < 1 || q.runs > 1000:
		return o, s, usagef("replay: --runs %d: from 1 to 1000", q.runs)
	case cmd.Flags().Changed("touch") && !slices.Contains(replay.Touches, q.touch):
		return o, s, unknownWord(cmd, "touch", q.touch, replay.Touches)
	case q.speed != "max" && q.speed != "recorded":
		return o, s, unknownWord(cmd, "speed", q.speed, []string{"max", "recorded"})
	case !slices.Contains(replay.Orders, q.ordered):
		return o, s, unknownWord(cmd, "order", q.ordered, replay.Orders)
	}
	if q.players != "recorded" {
		n, err := strconv.Atoi(q.players)
		if err != nil || n < 1 || n > mostPlayers {
			return o, s, usagef("replay: --threads %s: a number from 1 to %d, or recorded", q.players, mostPlayers)
		}
		o.Threads = n
	}
	return o, s, nil
}

// chosen finds the allocators. Of the default ones, those that are missing are named and left out.
func (q *replayFlags) chosen(cmd *cobra.Command) ([]replay.Allocator, error) {
	written := replay.DefaultAllocators
	if len(q.whatIf) > 0 {
		written = written[:1]
	}
	if cmd.Flags().Changed("allocators") {
		written = nil
		for _, part := range q.allocators {
			written = append(written, replay.SplitAllocators(part)...)
		}
	}
	var list []replay.Allocator
	for _, w := range written {
		a, err := replay.ParseAllocator(w)
		switch {
		case err != nil && !cmd.Flags().Changed("allocators"):
			sayTo(cmd)("left out: " + err.Error())
			continue
		case err != nil:
			return nil, &launch.StatusError{Status: launch.StatusFailed,
				Err: fmt.Errorf("replay: --allocators %w", err)}
		case slices.ContainsFunc(list, func(b replay.Allocator) bool { return a.Name == b.Name }):
			return nil, usagef("replay: --allocators %s: is named twice", a.Name)
		}
		list = append(list, a)
	}
	if len(list) == 0 {
		return nil, usagef("replay: --allocators: names none")
	}
	return list, nil
}

func (q *replayFlags) run(cmd *cobra.Command, args []string) error {
	o, settings, err := q.settings(cmd)
	if err != nil {
		return err
	}
	list, err := q.chosen(cmd)
	if err != nil {
		return err
	}
	s, look, err := q.open(cmd, args)
	if err != nil {
		return err
	}
	for _, flag := range [][2]string{{"chart", q.chart}, {"html", q.html}} {
		if flag[1] != "" && outfile.SameFile(flag[1], s.Reader.Name()) {
			return usagef("replay: --%s %s is the recording itself", flag[0], flag[1])
		}
	}
	if q.chart != "" && (q.chart == q.html || outfile.SameFile(q.chart, q.html)) {
		return usagef("replay: --chart and --html are the same file, %s", q.chart)
	}
	r, err := q.measure(cmd, s, &o, settings, list)
	switch {
	case err != nil:
	case q.json:
		err = answer.Write(cmd.OutOrStdout(), answer.NewReplay(s, r, o))
	default:
		err = view.Replay(cmd.OutOrStdout(), s, r, look.Options)
	}
	if err == nil && q.chart != "" {
		err = outfile.File(q.chart, func(w io.Writer) error {
			return replaychart.Write(w, recordedCommand(s.Profile), r)
		})
	}
	if err == nil && q.html != "" {
		var picture strings.Builder
		_ = replaychart.Write(&picture, recordedCommand(s.Profile), r) // a Builder never fails
		err = outfile.File(q.html, func(w io.Writer) error { return view.ReplayPage(w, s, r, picture.String()) })
	}
	if err == nil && q.save {
		err = saveReplay(s, r, o)
	}
	if err == nil && len(r.Failures) > 0 {
		err = &launch.StatusError{Status: launch.StatusFailed,
			Err: fmt.Errorf("replay: %d of %d allocators could not be measured", len(r.Failures), len(list))}
	}
	return errors.Join(err, s.Close())
}

// saveReplay keeps the result in a file beside the run.
func saveReplay(s *query.Source, r *replay.Results, o replay.Options) error {
	text, err := json.Marshal(answer.NewSavedReplay(s, r, o))
	if err != nil {
		return err
	}
	return notes.Replay.Write(s.Reader.Name(), text)
}

// recordedCommand is the recorded program, without its folder, and its arguments.
func recordedCommand(p *profile.Profile) string {
	words := slices.Clone(p.Process.Args)
	if len(words) == 0 {
		words = []string{p.Process.Exe}
	}
	words[0] = filepath.Base(words[0])
	return strings.Join(words, " ")
}

// measure makes the plan in a temporary folder and has it played.
func (q *replayFlags) measure(cmd *cobra.Command, s *query.Source, o *replay.Options, settings replay.Settings,
	list []replay.Allocator) (*replay.Results, error) {
	var err error
	if o.From, err = question.Cut(s.Reader, "from", q.From); err == nil {
		o.To, err = question.Cut(s.Reader, "to", q.To)
	}
	if err != nil {
		return nil, usage(cmd, err)
	}
	switch known := replay.HasPages(s.Reader); {
	case settings.Touch == replay.TouchRecorded && known != nil:
		return nil, fmt.Errorf("replay: --touch recorded: %w", known)
	case settings.Touch == replay.TouchRecorded || settings.Touch == "":
		o.Pages = known == nil
	}
	if note := q.Beyond(s); note != "" {
		sayTo(cmd)(note)
	}
	if o.To < o.From {
		return nil, usagef("replay: --from %s is not before --to %s", q.From, q.To)
	}
	dir, remove, err := outfile.TemporaryDir("heaptap-replay-")
	if err != nil {
		return nil, fmt.Errorf("the plan needs a temporary folder: %w", err)
	}
	defer remove()
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	changes, err := q.changes(s)
	if err != nil {
		return nil, err
	}
	o.Progress = progressOf(cmd, "planning")
	plan, err := replay.Make(cmd.Context(), s.Reader, filepath.Join(dir, "plan"), *o)
	if err != nil {
		return nil, err
	}
	var changed *replay.Plan
	if o.Changes = changes; len(changes) > 0 {
		if changed, err = replay.Make(cmd.Context(), s.Reader, filepath.Join(dir, "changed"), *o); err != nil {
			return nil, err
		}
		if changed.Changed == (replay.Changed{}) {
			return nil, fmt.Errorf("replay: --what-if changes nothing: at these call stacks nothing is allocated " +
				"that it is about; heaptap top --focus STACK --metric allocations,temporary,reallocations shows what " +
				"is")
		}
	}
	player, err := replay.NewPlayer(dir)
	if err != nil {
		return nil, err
	}
	settings.Progress = progressOf(cmd, "playing")
	return replay.Measure(cmd.Context(), player, plan, changed, list, settings)
}

// changes reads --what-if.
func (q *replayFlags) changes(s *query.Source) (list []replay.Change, err error) {
	for _, text := range q.whatIf {
		kind, pattern, ok := strings.Cut(text, "=")
		switch {
		case !ok || pattern == "":
			return nil, usagef("replay: --what-if %s: must be KIND=STACK, as in drop-temporaries=parse_headers", text)
		case !slices.Contains(replay.ChangeKinds, kind):
			return nil, usagef("replay: --what-if %s: %q is none of the kinds; known are %s", text, kind,
				strings.Join(replay.ChangeKinds, ", "))
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, usagef("replay: --what-if %s: %v", text, err)
		}
		matches, any := s.StacksMatching(re)
		if !any {
			return nil, fmt.Errorf("replay: --what-if %s: no recorded call stack has a function, file or module that "+
				"matches; heaptap top shows the names", text)
		}
		list = append(list, replay.Change{Kind: replay.ChangeKind(kind), Pattern: pattern, Matches: matches})
	}
	return list, nil
}

// kindsWith returns the kinds of changes with what follows them.
func kindsWith(suffix string) (list []string) {
	for _, kind := range replay.ChangeKinds {
		list = append(list, kind+suffix)
	}
	return list
}

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/replay"
	"github.com/heaptap/heaptap/internal/timeref"
	"github.com/heaptap/heaptap/internal/view"
)

// replayFlags are the flags of heaptap replay.
type replayFlags struct {
	queryFlags
	allocators                     []string
	runs                           int
	touch, speed, players, ordered string
}

// mostPlayers bounds --threads.
const mostPlayers = 10_000

func newReplayCommand() *cobra.Command {
	q := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay [flags] [RUN]",
		Short: "Play the recorded calls against other allocators, and compare them",
		Long: `Replay makes the calls of a recording once more, against each of the allocators: one thread for each
recorded thread, started when that has its first call, and ended after its last one. Blocks that one
thread hands to another are freed after their allocation, and threads stay within 10,000 calls of the
recorded order. Printed are, for each allocator: the time of a call, percentiles from separate runs,
processor time, the resident set at its peak and on average, page faults, system calls for memory, and
what stays resident after all blocks were freed. * marks the best. What the player itself costs is
measured with an allocator that does nothing, and subtracted.

A recording does not say which pages of a block the program wrote to. So memory is an interval: from a
write to the first byte of each block to one to each of its pages.

An allocator is glibc, jemalloc, mimalloc or tcmalloc, or the path of a library. Options follow after
colons, and are set in the player's environment.`,
		Example: `  heaptap replay server.4711.htap
  heaptap replay --allocators glibc,glibc:MALLOC_ARENA_MAX=2,jemalloc:MALLOC_CONF=narenas:4 server.4711.htap
  heaptap replay --allocators glibc,./libmine.so --runs 11 --touch all server.4711.htap
  heaptap replay --from 20% --to 90% --speed recorded server.4711.htap
  heaptap replay --json server.4711.htap | jq '.allocators[] | {name, rss: .touch_first.peak_rss_bytes.median}'`,
		Args: oneRun,
	}
	f := cmd.Flags()
	f.StringArrayVar(&q.allocators, "allocators", nil, "play against these `ALLOCATORS`, a list with commas; default: "+
		"glibc, and those of jemalloc, mimalloc and tcmalloc that are installed; may be repeated")
	f.IntVar(&q.runs, "runs", 5, "run the player `N` times with each allocator, in turns")
	f.StringVar(&q.touch, "touch", "", "write to `WHAT`: none, first (the first byte of each block) or all (all of "+
		"its pages); default: first, and for memory also all")
	f.StringVar(&q.speed, "speed", "max", "play at this `SPEED`: max, or recorded (with the pauses that the program "+
		"made)")
	f.StringVar(&q.players, "threads", "recorded", "play the threads beside the main one in `N` threads; recorded: "+
		"each in one of its own")
	f.StringVar(&q.ordered, "order", string(replay.Window), "keep threads in the recorded `ORDER`: window (within "+
		"10,000 calls), total (exactly; one thread at a time) or free (only blocks are handed over in order)")
	f.StringVar(&q.From, "from", "start", "play what was called after `TIME`: "+timeref.Help+"; blocks that are live "+
		"then are allocated first, which is not measured")
	f.StringVar(&q.To, "to", "end", "play up to `TIME`")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	q.looks(f)
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) }
	complete(cmd, "allocators", replay.DefaultAllocators)
	complete(cmd, "touch", []string{"none", "first", "all"})
	complete(cmd, "speed", []string{"max", "recorded"})
	complete(cmd, "order", replay.Orders)
	return cmd
}

// options reads the flags.
func (q *replayFlags) settings(cmd *cobra.Command) (o replay.Options, s replay.Settings, err error) {
	s = replay.Settings{Runs: q.runs, Touch: replay.Touch(q.touch)}
	o = replay.Options{Order: replay.Order(q.ordered), Timed: q.speed == "recorded"}
	touches := []string{string(replay.TouchNone), string(replay.TouchFirst), string(replay.TouchAll)}
	switch {
	case q.runs < 1 || q.runs > 1000:
		return o, s, usagef("replay: --runs %d: from 1 to 1000", q.runs)
	case q.touch == "recorded":
		return o, s, usagef("replay: --touch recorded: recordings do not say which pages were written to; known are " +
			"none, first and all")
	case cmd.Flags().Changed("touch") && !slices.Contains(touches, q.touch):
		return o, s, unknownWord(cmd, "touch", q.touch, touches)
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
	r, err := q.measure(cmd, s, &o, settings, list)
	switch {
	case err != nil:
	case q.json:
		err = answer.Write(cmd.OutOrStdout(), answer.NewReplay(s, r, o))
	default:
		err = view.Replay(cmd.OutOrStdout(), s, r, look.Options)
	}
	if err == nil && len(r.Failures) > 0 {
		err = &launch.StatusError{Status: launch.StatusFailed,
			Err: fmt.Errorf("replay: %d of %d allocators could not be measured", len(r.Failures), len(list))}
	}
	return errors.Join(err, s.Close())
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
	o.Progress = progressOf(cmd, "planning")
	plan, err := replay.Make(cmd.Context(), s.Reader, filepath.Join(dir, "plan"), *o)
	if err != nil {
		return nil, err
	}
	player, err := replay.NewPlayer(dir)
	if err != nil {
		return nil, err
	}
	settings.Progress = progressOf(cmd, "playing")
	return replay.Measure(cmd.Context(), player, plan, list, settings)
}

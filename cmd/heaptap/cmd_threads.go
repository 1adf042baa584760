package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

func newThreadsCommand() *cobra.Command {
	parts, known := view.ThreadParts, append([]string{view.ThreadsTotals, view.ThreadsFrames}, view.ThreadParts...)
	cmd := &cobra.Command{
		Args:  oneRun,
		Use:   "threads [flags] [RUN]",
		Short: "Show what each thread allocated, and who freed it",
		Long: `Threads prints a line for each thread: how often it allocated and how much, how much of that is live
at the end of the range and was at most at any moment, and how deep its call stacks were; the same
by the function that was called; and which threads freed what other threads had allocated.

The parts totals (threads, without the peaks and depths) and matrix of a whole run come from its
statistics, at once: threads --show totals,matrix. Of more than 64 threads, some are summed there.

The part frames has the call stack of each thread at which its stack was deepest, and how much of the
stack each frame takes. That is read from the programs and libraries as they were recorded, which must
still be here; of frames with a frame pointer, it is unknown.`,
		Example: `  heaptap threads server.4711.htap
  heaptap threads --show totals,matrix server.4711.htap
  heaptap threads --show frames server.4711.htap
  heaptap threads --focus cache --from 50% server.4711.htap`,
	}
	q := newQuestion(cmd, 20)
	cmd.Flags().StringSliceVar(&parts, "show", parts, "print these `PARTS`; also "+view.ThreadsTotals+", "+
		view.ThreadsFrames)
	complete(cmd, "show", known)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, p := range parts {
			if !slices.Contains(known, p) {
				return unknownWord(cmd, "show", p, known)
			}
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			about.Metrics = []query.Metric{query.Allocations, query.Bytes, query.Live, query.OwnPeak, query.Temporary,
				query.Depth}
			t, err := threads(cmd.Context(), s, about, !q.json && !needEvents(parts))
			if err != nil {
				return err
			}
			if q.json {
				return answer.Write(w, answer.NewThreads(s, t, framesize.Find(cmd.Context(), s), o.Page))
			}
			var sizes *framesize.Sizes
			if slices.Contains(parts, view.ThreadsFrames) {
				sizes = framesize.Find(cmd.Context(), s)
			}
			return view.Threads(w, s, t, sizes, parts, o)
		})
	}
	return cmd
}

// threads answers at once, if only sums of the whole run are wanted.
func threads(ctx context.Context, s *query.Source, q *query.Query, sums bool) (*query.ThreadTables, error) {
	if sums {
		if t, err := query.SumThreads(ctx, s, q); !errors.Is(err, query.ErrNotAtOnce) {
			return t, err
		}
	}
	return query.Threads(ctx, s, q)
}

// needEvents reports whether one of the parts of what threads did is not in the statistics of the run.
func needEvents(parts []string) bool {
	return slices.Contains(parts, view.ThreadsAll) || slices.Contains(parts, view.ThreadsCalls)
}

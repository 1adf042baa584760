package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/view"
)

func newBlocksCommand() *cobra.Command {
	var block, address string
	sort := query.Largest.String()
	cmd := &cobra.Command{
		Use:   "blocks [flags] [RUN]",
		Short: "Show the largest or the oldest blocks, or what became of one",
		Long: `Blocks prints the largest blocks that are live at a moment, one a line: at the peak, unless --at says
otherwise, or with --from or --to at the end of that range. Only blocks that were allocated in the range
count. --address finds the block that holds an address, or those of a range.

Blocks are named by the number of their allocation, as in dump. --block tells what became of one: where
it was allocated, how reallocations moved it, and who freed it; what the same thread allocated just
before and after; and, if addresses were recorded (run --addresses), what lay next to it.`,
		Example: `  heaptap blocks server.4711.htap
  heaptap blocks --at end --sort age server.4711.htap
  heaptap blocks --block 47 server.4711.htap
  heaptap blocks --json --limit 10000 server.4711.htap | jq '[.blocks[].size] | add'`,
		Args: oneRun,
	}
	q := newQuestion(cmd, 20)
	f := cmd.Flags()
	f.StringVar(&q.At, "at", "", "the `TIME` at which blocks are live; default: the peak, or that of --to")
	f.StringVar(&sort, "sort", sort, "`WHICH` come first: "+strings.Join(query.BlockOrders(), ", "))
	f.StringVar(&block, "block", "", "tell what became of the block of allocation `NUMBER`")
	f.StringVar(&address, "address", "", "show the block that holds this `ADDRESS`, as 0x7f00c0de, or those of A..B")
	complete(cmd, "sort", query.BlockOrders())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		choice, number, err := question.Blocks(sort, block, address)
		if err != nil {
			return usage(cmd, err)
		}
		if choice.Most = q.skip + q.limit; q.limit == 0 || choice.Most > query.MostBlocks {
			choice.Most = query.MostBlocks
		}
		return q.ask(cmd, args, func(w io.Writer, s *query.Source, about *query.Query, o view.QueryOptions) error {
			if number != nil {
				b, err := query.Tell(cmd.Context(), s, about, *number)
				switch {
				case err != nil:
					return err
				case q.json:
					return answer.Write(w, answer.NewBiography(s, b))
				}
				return view.Biography(w, s, b, o)
			}
			b, err := query.FindBlocks(cmd.Context(), s, about, choice)
			switch {
			case err != nil:
				return err
			case q.json:
				return answer.Write(w, answer.NewBlocks(s, b, o.Page))
			}
			return view.Blocks(w, s, b, choice.Order, o)
		})
	}
	return cmd
}

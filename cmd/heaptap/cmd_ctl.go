package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/control"
	"github.com/heaptap/heaptap/internal/spelling"
	"github.com/heaptap/heaptap/internal/view"
)

// ctlVerbs are the commands of heaptap ctl.
var ctlVerbs = []struct {
	verb control.Verb
	arg  string // what it needs; "": nothing
	text string
}{
	{control.Status, "", "show the state of the recording"},
	{control.Stop, "", "record no new allocations; recorded blocks are still followed"},
	{control.Start, "", "record again"},
	{control.Mode, "sampled|exact", "change to that mode"},
	{control.Mark, "NAME", "set a mark, for --at, --from and --to"},
	{control.Flush, "", "write everything so far into the recording"},
}

func newCtlCommand() *cobra.Command {
	asJSON := false
	var list []string
	for _, v := range ctlVerbs {
		list = append(list, fmt.Sprintf("  %-20s %s", strings.TrimSpace(string(v.verb)+" "+v.arg), v.text))
	}
	cmd := &cobra.Command{
		Use:   "ctl [flags] PID [COMMAND]",
		Short: "Control a recording that is under way",
		Long: `Ctl tells the recorder of a process what to do. PID is a process that heaptap run records, heaptap
run itself, or its recorder; the last two stand for all processes of the run. Commands:

` + strings.Join(list, "\n") + `

Without a command: status. A mode applies to a program and to all processes that it has forked. A
change takes effect at a thread's next allocation or deallocation, and is a mark itself: "mode off",
"mode exact" ... While recording is off, new blocks are not recorded, and their deallocations count
as nothing; blocks that were recorded before are followed until they are freed.

Exit status: 0; 1 if there is no such process, if it is not being recorded, or if its recorder
cannot be reached.`,
		Example: `  heaptap ctl 4711
  heaptap ctl 4711 mark "after warm-up"
  heaptap ctl 4711 flush && heaptap top --from "after warm-up" server.4711.htap
  heaptap ctl 4711 flush && heaptap leaks server.4711.htap
  heaptap ctl 4711 mode sampled`,
		Args: func(_ *cobra.Command, args []string) error { return checkCtl(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, _ := strconv.Atoi(args[0])
			run, err := control.Find(pid)
			if err != nil {
				return fmt.Errorf("ctl: %w", err)
			}
			q := control.Request{Verb: control.Status, Spool: run.Spool, PID: pid}
			if len(args) > 1 {
				q.Verb = control.Verb(args[1])
			}
			if len(args) > 2 {
				q.Text = args[2]
			}
			reply, err := control.Call(run.Dir, q)
			if err != nil {
				return fmt.Errorf("ctl: %w", err)
			}
			var failed error
			for _, p := range reply.Processes {
				if p.Error != "" {
					failed = errors.Join(failed, fmt.Errorf("ctl: process %d: %s", p.PID, p.Error))
				}
			}
			switch {
			case asJSON:
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				failed = errors.Join(failed, e.Encode(struct {
					Processes []control.Process `json:"processes"`
				}{append([]control.Process{}, reply.Processes...)}))
			case q.Verb == control.Status:
				failed = errors.Join(failed, view.Processes(cmd.OutOrStdout(), reply.Processes))
			}
			return failed
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print one JSON object with pid, program, file, mode, events, live_bytes, live_blocks, lost_events "+
			"and lag_ns of each process")
	return cmd
}

// checkCtl checks the arguments.
func checkCtl(args []string) error {
	if len(args) == 0 {
		return usagef("ctl: no process given; for example: heaptap ctl 4711 status")
	}
	if pid, err := strconv.Atoi(args[0]); err != nil || pid <= 0 {
		return usagef("ctl: %q is not a process id", args[0])
	}
	if len(args) == 1 {
		return nil
	}
	var names []string
	for _, v := range ctlVerbs {
		names = append(names, string(v.verb))
		if string(v.verb) != args[1] {
			continue
		}
		switch {
		case v.arg == "" && len(args) > 2:
			return usagef("ctl: %s takes no %q", args[1], args[2])
		case v.arg != "" && len(args) != 3:
			return usagef("ctl: %s needs one %s", args[1], v.arg)
		case v.verb == control.Mode && args[2] != "sampled" && args[2] != "exact":
			return usagef("ctl: mode %s: known are sampled and exact; to record nothing: stop", args[2])
		}
		return nil
	}
	return usagef("ctl: %q: known are %s%s", args[1], strings.Join(names, ", "), spelling.DidYouMean(args[1], names))
}

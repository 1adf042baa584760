package programs

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/heaptap/heaptap/tests/count"
)

// digest returns a short text that stands for bytes in a table.
func digest(b []byte) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes, sha256 %x...", len(b), sha256.Sum256(b))[:40]
}

// pair finds, for each recording, the counting library's file of the same image of the same process: by pid; if a pid
// had several images, by the executable's name; and if these are equal, by their order. It also returns the files that
// have no recording.
func pair(recs []Recording, counts []count.Totals) (map[int]count.Totals, []count.Totals) {
	found, used := map[int]count.Totals{}, make([]bool, len(counts))
	images := map[uint64][2]int{}
	for _, r := range recs {
		n := images[r.PID]
		images[r.PID] = [2]int{n[0] + 1, n[1]}
	}
	for _, c := range counts {
		n := images[c.PID]
		images[c.PID] = [2]int{n[0], n[1] + 1}
	}
	for i, r := range recs {
		for j, c := range counts {
			only := images[r.PID] == [2]int{1, 1}
			if !used[j] && c.PID == r.PID && (only || c.Exe == r.Process.Exe) {
				found[i], used[j] = c, true
				break
			}
		}
	}
	var left []count.Totals
	for j, c := range counts {
		if !used[j] {
			left = append(left, c)
		}
	}
	return found, left
}

// judge compares the recording of each process with the counting library's file, and the program's own numbers with the
// stacks that they are about.
func (r *Result) judge() error {
	counts, left := pair(r.Recordings, r.Counts)
	for i, rec := range r.Recordings {
		row := Row{
			Name: rec.Name, Allocations: rec.Totals.Allocations, Deallocations: rec.Totals.Deallocations,
			Bytes: rec.Totals.Bytes, Failed: rec.Totals.Failed, LeakedBytes: rec.Leaked.Bytes,
			PeakBytes: rec.Peak.Bytes,
			Unmatched: rec.Totals.Unmatched, Lost: *rec.Lost, Truncated: *rec.Truncated, Size: rec.Size,
		}
		who := fmt.Sprintf("%s.%d.%d", rec.Name, rec.PID, rec.Image)
		r.equal(who+": unmatched", rec.Totals.Unmatched, 0)
		r.equal(who+": lost", *rec.Lost, 0)
		if r.Case.JIT {
			limit := rec.Totals.Allocations / 1000
			r.check(who+": truncated (JIT)", *rec.Truncated, fmt.Sprint("at most ", limit), *rec.Truncated <= limit)
		} else {
			r.equal(who+": truncated", *rec.Truncated, 0)
		}
		r.equal(who+": unseen deallocations", rec.Totals.Unseen, 0)
		r.equal(who+": bad call frame information", rec.Health.BadCFI, 0)
		r.equal(who+": stacks without room", rec.Health.TableFull, 0)
		r.equal(who+": threads without room", rec.Health.NoThread, 0)
		r.check(who+": complete", rec.Recording.Complete, true, rec.Recording.Complete)
		r.equal(who+": live at peak, summed over the stacks",
			rec.Sum(func(s Stack) uint64 { return s.LiveAtPeakBytes }), rec.Peak.Bytes)
		r.equal(who+": leaked, summed over the stacks", rec.Sum(func(s Stack) uint64 { return s.LeakedBytes }),
			rec.Leaked.Bytes)
		r.equal(who+": allocated minus freed", rec.Totals.Allocations-rec.Totals.Deallocations, rec.Leaked.Blocks)
		c, ok := counts[i]
		row.Judged = ok
		r.Rows = append(r.Rows, row)
		if r.Case.Unjudged {
			continue
		}
		if !ok {
			r.check(who, "a recording", "no such process seen by the counting library", false)
			continue
		}
		r.against(who, rec, c)
	}
	for _, c := range left {
		r.check(fmt.Sprintf("%s.%d.%d", filepath.Base(c.Exe), c.PID, c.Image), "no recording",
			fmt.Sprintf("%d allocations seen by the counting library", c.Allocations), false)
	}
	if r.Case.Below != nil {
		return r.known()
	}
	return nil
}

// against compares a recording with what the counting library saw of the same process.
func (r *Result) against(who string, rec Recording, c count.Totals) {
	r.equal(who+": allocations", rec.Totals.Allocations, c.Allocations)
	r.equal(who+": deallocations", rec.Totals.Deallocations, c.Deallocations)
	r.equal(who+": bytes", rec.Totals.Bytes, c.Bytes)
	r.equal(who+": failed", rec.Totals.Failed, c.Failed)
	r.equal(who+": leaked bytes", rec.Leaked.Bytes, c.LeakedBytes)
	r.equal(who+": leaked blocks", rec.Leaked.Blocks, c.LeakedBlocks)
	r.equal(who+": temporary", rec.Temporary.Allocations, c.Temporary)
	r.equal(who+": inherited", rec.Totals.Inherited+rec.Totals.Unmatched, c.Unmatched)
	if !c.Forked {
		r.equal(who+": inherited without a fork", rec.Totals.Inherited, 0)
	}
	var reallocations uint64
	for _, s := range rec.Stacks {
		reallocations += s.Reallocations
	}
	r.equal(who+": reallocations", reallocations, c.Reallocations)
	if r.Case.Threads {
		near := func(a, b uint64) bool { return max(a, b)-min(a, b) <= max(a, b)/200+4096 }
		r.check(who+": peak bytes (threads: within 0.5 % + 4 KiB)", rec.Peak.Bytes, c.PeakBytes,
			near(rec.Peak.Bytes, c.PeakBytes))
		return
	}
	r.equal(who+": peak bytes", rec.Peak.Bytes, c.PeakBytes)
	r.equal(who+": peak blocks", rec.Peak.Blocks, c.PeakBlocks)
}

// known compares the stacks below the case's functions with the program's own numbers.
func (r *Result) known() error {
	want, err := ParseTruth(r.Stdout)
	if err != nil {
		return err
	}
	if len(r.Recordings) == 0 {
		return nil
	}
	got := r.Recordings[0].Below(r.Case.Below...)
	r.equal("source: allocations", got.Allocations, want.Allocations)
	r.equal("source: deallocations", got.Deallocations, want.Deallocations)
	r.equal("source: bytes", got.Bytes, want.Bytes)
	r.equal("source: leaked bytes", got.LeakedBytes, want.LeakedBytes)
	r.equal("source: leaked blocks", got.LeakedBlocks, want.LeakedBlocks)
	if r.Case.ComparePeak {
		r.equal("source: peak bytes", got.PeakBytes, want.PeakBytes)
		r.equal("source: peak blocks", got.PeakBlocks, want.PeakBlocks)
	}
	return nil
}

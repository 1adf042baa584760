// Package verify checks a recording against itself: whether its blocks are whole, its tables refer to what exists, its
// events are in order, every deallocation ends a block that is live, and the numbers add up.
//
// Two of the checks are a second opinion, and share no code with what they judge: the file's blocks and index are read
// by the specification (package recording's documentation), and live blocks, pairs, peak and temporaries are counted by
// tables and sums as the definitions say.
//
// It goes through the events once and needs memory in proportion to the blocks that are live, the threads and the tree.
// Of a recording that was cut short or damaged, it checks what is before the first block that is not whole; of one
// whose older events were folded, that the statistics are what the summaries and the later events sum up to.
package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/tally"
)

// maxProblems is how many problems of a check are told one by one.
const maxProblems = 10

// Check is one aspect of a recording.
type Check struct {
	Name     string   `json:"name"`     // one word
	What     string   `json:"what"`     // what was looked at, with counts
	Problems []string `json:"problems"` // sentences; the first ones if there are many
	Count    uint64   `json:"count"`    // of all problems
}

func (c *Check) problem(format string, args ...any) {
	if c.Count++; c.Count <= maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

func (c *Check) require(holds bool, format string, args ...any) {
	if !holds {
		c.problem(format, args...)
	}
}

// Result is what came of all checks.
type Result struct {
	File    string   `json:"file"`
	OK      bool     `json:"ok"`      // there is no problem in what there is
	Missing []string `json:"missing"` // what an incomplete recording lacks, in sentences
	Checks  []*Check `json:"checks"`
}

// Problems is the number of problems of all checks.
func (r *Result) Problems() (n uint64) {
	for _, c := range r.Checks {
		n += c.Count
	}
	return n
}

func (r *Result) check(name string) *Check {
	c := &Check{Name: name, Problems: []string{}}
	r.Checks = append(r.Checks, c)
	return c
}

// File checks the recording at path. An error means that it could not be read at all.
func File(path string) (*Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return Recording(f, st.Size(), filepath.Base(path))
}

// Recording checks the recording of size bytes in f. The name is used in messages.
func Recording(f io.ReaderAt, size int64, name string) (*Result, error) {
	r := &Result{File: name, Missing: []string{}}
	blocks := &file{f: f, size: size, check: r.check("blocks")}
	if err := blocks.walk(); err != nil {
		return nil, err
	}
	r.Missing = append(r.Missing, blocks.missing...)
	rec, err := recording.NewReader(io.NewSectionReader(f, 0, blocks.whole), blocks.whole, name)
	if err != nil {
		return nil, err
	}
	ending, ended := rec.Ending()
	if !ended {
		r.Missing = append(r.Missing, "how the process ended: what is live at the end of the recording is not "+
			"necessarily leaked")
	}
	for _, d := range rec.Damage() {
		if len(blocks.blocks) == 0 {
			break
		}
		if ended || !strings.HasPrefix(d, "the ending is missing") { // that was said above
			blocks.check.problem("%s", d)
		}
	}
	tree := newTree(rec, r.check("tables"), r.check("modules"))
	if rec.Merged() != nil {
		if err := checkMerged(r.check("sums"), rec); err != nil {
			return nil, err
		}
		r.OK = r.Problems() == 0
		return r, nil
	}
	ev := newEvents(rec, tree, r.check("order"), r.check("pairs"))
	ev.summaries = newSummaries(rec, r.check("summaries"))
	ev.regions = newRegions(rec, r)
	counted, err := ev.read()
	var damage *recording.DamageError
	var folded *recording.FoldedError
	if errors.As(err, &damage) {
		for _, d := range damage.Damage {
			blocks.check.problem("%s", d)
		}
	} else if err != nil && !errors.As(err, &folded) {
		return nil, err
	}
	if f := rec.Folded(); f.Cut > 0 {
		r.Missing = append(r.Missing, fmt.Sprintf("the first %d events, up to %.7f s, were folded: their pairs were "+
			"not checked, their sums only by stack", f.Cut,
			float64(f.Time)/1e9))
		if err := checkFolded(r.check("sums"), rec); err != nil {
			return nil, err
		}
	} else if ev.partial {
		first, _ := rec.Cuts()
		r.Missing = append(r.Missing, fmt.Sprintf("the first %d events: pairs and sums were not checked", first))
	} else if err := r.numbers(rec, blocks, ev, counted, damage == nil); err != nil {
		return nil, err
	}
	checkSamples(r.check("samples"), rec.Samples(), ending.End, ended)
	if marks := rec.Marks(); len(marks) > 0 {
		checkMarks(r.check("marks"), marks, rec)
	}
	r.checkFacts(rec)
	r.OK = r.Problems() == 0
	return r, nil
}

// numbers checks what the recording says of its events in sum. whole says that all of them could be read.
func (r *Result) numbers(rec *recording.Reader, blocks *file, ev *events, counted *tally.Summary, whole bool) error {
	if blocks.ending != nil {
		blocks.check.require(blocks.ending.Events == ev.count, "the ending counts %d events, there are %d",
			blocks.ending.Events, ev.count)
	}
	if whole {
		if err := ev.summaries.compare(ev.peak); err != nil {
			ev.summaries.check.problem("%v", err)
		}
	}
	stored := counted
	if blocks.tally {
		var err error
		if stored, err = rec.Tally(); err != nil {
			return err
		}
	} else if blocks.ending != nil {
		r.Missing = append(r.Missing, "the stored statistics")
	}
	checkSums(r.check("sums"), ev, stored, counted, blocks.tally)
	return nil
}

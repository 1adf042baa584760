// Package verify checks a recording for consistency: whether its blocks are undamaged, its tables refer to what exists,
// its events are in order, every deallocation ends a live block, and the numbers add up.
//
// Two of the checks are a second opinion and share no code with what they check: the file's blocks and index are read
// according to the specification (package recording's documentation), and live blocks, pairs, peak and temporaries are
// counted with tables and sums, as they are defined.
//
// It goes through the events once. Its memory is proportional to the live blocks, the threads and the tree. In a
// recording that was cut short or damaged, it checks what precedes the first incomplete block; in one whose older
// events were folded, that the tally is the sum of the summaries and the later events.
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

// maxProblems limits the problems of a check that are listed.
const maxProblems = 10

// Check is one aspect of a recording.
type Check struct {
	Name     string   `json:"name"`     // one word
	What     string   `json:"what"`     // what was checked, with counts
	Problems []string `json:"problems"` // sentences; only the first ones if there are many
	Count    uint64   `json:"count"`    // number of problems
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

// Result is the result of all checks.
type Result struct {
	File    string   `json:"file"`
	OK      bool     `json:"ok"`      // no problem was found
	Missing []string `json:"missing"` // what an incomplete recording lacks, in sentences
	Checks  []*Check `json:"checks"`
}

// Problems returns the number of problems of all checks.
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
		if ended || !strings.HasPrefix(d, "the ending is missing") { // reported above
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
	ev.far = newFarSums(rec, ev.summaries.check)
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

// numbers checks the sums. whole says that all events could be read.
func (r *Result) numbers(rec *recording.Reader, blocks *file, ev *events, counted *tally.Summary, whole bool) error {
	if blocks.ending != nil {
		blocks.check.require(blocks.ending.Events == ev.count, "the ending counts %d events, but there are %d",
			blocks.ending.Events, ev.count)
	}
	if whole {
		ev.far.finish()
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

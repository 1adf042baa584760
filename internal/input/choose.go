package input

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/run"
)

// DoubtError says that several programs of a run may be meant.
type DoubtError struct {
	Why        string
	Candidates []string
}

func (e *DoubtError) Error() string {
	return fmt.Sprintf("it is not clear which of %s is meant; --process PATTERN says it, --all means all: %s",
		e.Why, strings.Join(e.Candidates, ", "))
}

// choose returns the numbers of the programs that are meant, and a phrase for the user that says which they are; "": it
// goes without saying.
func (f *Finder) choose(r *run.Run) (chosen []int, why string, err error) {
	programs := r.Programs()
	switch {
	case len(programs) == 0:
		return nil, "", fmt.Errorf("nothing was recorded")
	case f.Programs != nil:
		return f.matching(programs)
	case len(programs) == 1 && (f.All || !f.Sure):
		return []int{0}, "", nil
	case f.All:
		for i := range programs {
			chosen = append(chosen, i)
		}
		word := "the sum of all"
		if f.Apart {
			word = "all"
		}
		return chosen, fmt.Sprintf("%s %d programs", word, len(programs)), nil
	case f.Sure:
		return f.named(r)
	}
	i, reason, _ := r.Matters()
	return []int{i}, fmt.Sprintf("%s, %s; %s: heaptap ps", described(&programs[i]), reason,
		others(len(programs)-1)), nil
}

// named returns the programs that the user named, as far as the run tells.
func (f *Finder) named(r *run.Run) (chosen []int, why string, err error) {
	programs := r.Programs()
	list, reason, sure := r.Named()
	main := slices.IndexFunc(programs, func(p run.Program) bool { return p.Named }) // -1: the user named several
	switch {
	case !sure || !f.Apart && main < 0:
		return nil, "", &DoubtError{reason, candidates(programs, list)}
	case len(programs) == 1:
		return list, "", nil
	case len(list) == 1 || !f.Apart: // a fork is no part of an answer about one program
		return []int{main}, fmt.Sprintf("%s, %s; %s: heaptap ps", described(&programs[main]), reason,
			others(len(programs)-1)), nil
	}
	return list, fmt.Sprintf("each of %s of %s, %s; %s: heaptap ps", humanize.Plural(uint64(len(list)), "recording"),
		programs[list[0]].Name(), reason, others(len(programs)-len(list))), nil
}

func others(n int) string {
	if n == 0 {
		return "no others"
	}
	return humanize.Plural(uint64(n), "other")
}

// matching returns the programs that match a pattern. A process id alone means the last program of that process.
func (f *Finder) matching(programs []run.Program) (chosen []int, why string, err error) {
	for _, pattern := range f.Programs {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, "", fmt.Errorf("--process %q is not a pattern", pattern)
		}
		before := len(chosen)
		pid, wrong := strconv.Atoi(pattern)
		for i := len(programs) - 1; i >= 0; i-- {
			if Matches(&programs[i], pattern) && !slices.Contains(chosen, i) {
				chosen = append(chosen, i)
				if wrong == nil && programs[i].Pid == pid && !f.Apart {
					break
				}
			}
		}
		if len(chosen) == before {
			return nil, "", fmt.Errorf("no program matches --process %s; there are %s", pattern,
				strings.Join(candidates(programs, nil), ", "))
		}
	}
	slices.Sort(chosen)
	if len(chosen) == 1 {
		return chosen, described(&programs[chosen[0]]), nil
	}
	word := "the sum of"
	if f.Apart {
		word = "each of"
	}
	return chosen, fmt.Sprintf("%s %d of %d programs", word, len(chosen), len(programs)), nil
}

// Matches reports whether a program's id, name, file, label (or the label's base name), title, or the name by which it
// was called, match a pattern with * and ?.
func Matches(p *run.Program, pattern string) bool {
	texts := []string{strconv.Itoa(p.Pid), p.Name(), p.Exe, p.Label, path.Base(p.Label), p.Title()}
	if len(p.Command) > 0 {
		texts = append(texts, path.Base(strings.TrimPrefix(p.Command[0], "-")))
	}
	for _, text := range texts {
		if ok, _ := path.Match(pattern, text); ok && text != "" {
			return true
		}
	}
	return false
}

func described(p *run.Program) string { return fmt.Sprintf("%s (process %d)", p.Title(), p.Pid) }

// candidates are the programs with the largest resident sets, of those with these numbers or, without any, of all, as a
// user can name them.
func candidates(programs []run.Program, of []int) (list []string) {
	const shown = 5
	order := slices.Clone(programs)
	if of != nil {
		order = order[:0]
		for _, i := range of {
			order = append(order, programs[i])
		}
	}
	slices.SortStableFunc(order, func(a, b run.Program) int {
		return cmp.Or(cmp.Compare(b.PeakResident, a.PeakResident), cmp.Compare(b.PeakLive, a.PeakLive))
	})
	for i := range order[:min(shown, len(order))] {
		p := &order[i]
		text := fmt.Sprintf("%d %s", p.Pid, p.Title())
		if p.PeakResident > 0 { // it is not known of short ones
			text += fmt.Sprintf(" (%s resident)", humanize.Size(uint64(p.PeakResident)))
		}
		list = append(list, text)
	}
	if n := len(order) - shown; n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return list
}

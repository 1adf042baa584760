package timeref

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// markPrefix before a name says that it is a mark's, whatever else it may mean: mark:peak.
const markPrefix = "mark:"

// latest stands after a name and # for the last mark of that name.
const latest = "last"

// UnknownMark is the error of a text that could only be a mark's name, and of which the recording has no mark.
type UnknownMark struct {
	Text  string // as the user wrote it
	Marks []string
}

func (e *UnknownMark) Error() string {
	list := "it has no marks"
	if n := len(e.Marks); n > 0 {
		list = "its marks are " + strings.Join(e.Marks[:min(n, 20)], ", ")
		if n > 20 {
			list += fmt.Sprintf(" and %d more", n-20)
		}
	}
	return fmt.Sprintf("%q is not a moment; write %s of the recording (%s)", e.Text, Help, list)
}

// findMark finds a mark by its name: NAME is the first one, NAME#2 the second one, NAME#last the last one.
func findMark(r *recording.Reader, text string) (*event.Mark, error) {
	marks := r.Marks()
	name := strings.TrimPrefix(text, markPrefix)
	if m := nth(marks, name, 1); m != nil { // a name may contain #
		return m, nil
	}
	if i := strings.LastIndexByte(name, '#'); i > 0 {
		n, err := strconv.ParseUint(name[i+1:], 10, 31)
		if name[i+1:] != latest && (err != nil || n == 0) {
			return nil, &UnknownMark{text, Names(marks)}
		}
		if m := nth(marks, name[:i], int(n)); m != nil {
			return m, nil
		}
	}
	return nil, &UnknownMark{text, Names(marks)}
}

// nth returns the n-th mark of a name, counting from 1; the last one if n is less than 1; nil if there is none.
func nth(marks []event.Mark, name string, n int) (found *event.Mark) {
	for i := range marks {
		if marks[i].Name != name {
			continue
		}
		if n--; n == 0 {
			return &marks[i]
		}
		if n < 0 {
			found = &marks[i]
		}
	}
	return found
}

// Names returns by what text each of the marks can be given as a time: its name, followed by #2 and so on if earlier
// marks have the same name.
func Names(marks []event.Mark) []string {
	seen := map[string]int{}
	list := make([]string, len(marks))
	for i := range marks {
		name := marks[i].Name
		seen[name]++
		if m, err := Parse(name); err != nil || m.kind != atMark || m.text != name {
			list[i] = markPrefix
		}
		if list[i] += name; seen[name] > 1 {
			list[i] += "#" + strconv.Itoa(seen[name])
		}
	}
	return list
}

package question

import (
	"errors"
	"strconv"

	"github.com/heaptap/heaptap/internal/query"
)

// Log reads which part of the log is asked for: from the event of a number on or, without one, from a moment on ("":
// from the beginning of the range); or with before, what is before that ("": before the end of the range). Errors are
// of type *Error.
func Log(s *query.Source, number, at string, before bool, kinds []string) (c query.LogChoice, err error) {
	set, unknown := query.ParseKinds(kinds)
	if unknown != "" {
		return c, UnknownWord("kind", unknown, query.KindNames())
	}
	c = query.LogChoice{Before: before, Kinds: set}
	switch {
	case number != "" && at != "":
		return c, wrong("event "+number, errors.New("excludes --at: both say where the log begins"))
	case number != "":
		if c.At, err = strconv.ParseUint(number, 10, 64); err != nil {
			return c, wrong("event "+number, errors.New("give the number of an event, as 4711"))
		}
	case at != "":
		c.At, err = within(s, "at", at)
	case before:
		c.At = query.Unbounded
	}
	return c, err
}

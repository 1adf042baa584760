package corpus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// facts are what a program says of itself: by subject (a function, "all", "maps", "resident"), metric by metric.
type facts map[string]map[string]uint64

var fact = regexp.MustCompile(`(?m)^//= (\w+): (.*)$`)

// read adds the facts of a text. Two lines must not say different things.
func (f facts) read(text string) error {
	for _, line := range fact.FindAllStringSubmatch(text, -1) {
		subject := f[line[1]]
		if subject == nil {
			subject = map[string]uint64{}
			f[line[1]] = subject
		}
		for _, part := range strings.Split(line[2], ", ") {
			metric, text, ok := strings.Cut(part, " ")
			n, err := strconv.ParseUint(text, 10, 64)
			if !ok || err != nil {
				return fmt.Errorf("%q: %q is not a metric and a number", line[0], part)
			}
			if old, ok := subject[metric]; ok && old != n {
				return fmt.Errorf("%s: %s is %d and %d", line[1], metric, old, n)
			}
			subject[metric] = n
		}
	}
	return nil
}

// Package lazy makes regular expressions when they are first needed: a command needs few of those that the program has,
// every `heaptap run` starts it twice, and making all of them takes 1 to 3 ms and 40 pages each time.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the regular expression, and compiles it at the first call. It panics then if
// the text is none.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

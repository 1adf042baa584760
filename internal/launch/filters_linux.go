package launch

import (
	"os"
	"strconv"
	"strings"
)

// filters is the value of filtersVariable: a number that agents change where it stands, 0 for none, by which an image
// finds what seccomp filters it has inherited from a recorded one; and how many of its filters heaptap run has, too. ""
// if the kernel does not tell.
func filters() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if text, ok := strings.CutPrefix(line, "Seccomp_filters:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil {
				return strings.Repeat("0", 16) + ":" + strconv.FormatUint(n, 10)
			}
		}
	}
	return ""
}

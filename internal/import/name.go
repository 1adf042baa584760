package imports

import (
	"path/filepath"
	"strings"
)

// OutputName returns the name of a recording made of a file: without the folder, and without the endings for how the
// file is compressed and for its format.
func OutputName(file string) string {
	name := filepath.Base(file)
	for _, ending := range []string{".zst", ".gz", ".heaptrack", ".pb", ".json", ".dhat", ".speedscope", ".folded",
		".mallocprofiler", ".heap"} {
		if short := strings.TrimSuffix(name, ending); short != "" {
			name = short
		}
	}
	return name + ".htap"
}

package export

import (
	"cmp"

	"github.com/heaptap/heaptap/internal/recording"
)

// Program returns the name of the recorded program; if that is not known, the recording's name.
func (in *Input) Program() string {
	if name := base(in.Reader.Process().Exe); name != "" {
		return name
	}
	return in.Name
}

// EndingText describes in a few words how the process ended.
func EndingText(e *recording.Ending) string {
	return cmp.Or(e.How(), "unknown")
}

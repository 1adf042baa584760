package export

import (
	"cmp"

	"github.com/heaptap/heaptap/internal/recording"
)

// Program is the name of the program that was recorded; if that is not known, the recording's.
func (in *Input) Program() string {
	if name := base(in.Reader.Process().Exe); name != "" {
		return name
	}
	return in.Name
}

// EndingText says in a few words how the process ended.
func EndingText(e *recording.Ending) string {
	return cmp.Or(e.How(), "it is not known how")
}

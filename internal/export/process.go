package export

import (
	"fmt"

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
	switch {
	case e.Status != "":
		return e.Status
	case e.Signal != 0:
		return fmt.Sprintf("killed by signal %d", e.Signal)
	case e.Exited:
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return "it is not known how"
}

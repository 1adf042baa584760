package export

import (
	"errors"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// OnlySums reports whether an error says that the answer needs events, but the recording has only sums: its events were
// folded, or it is a merge of several recordings.
func OnlySums(err error) bool {
	var f *recording.FoldedError
	var m *recording.MergedError
	return errors.As(err, &f) || errors.As(err, &m)
}

// PeakTime returns the time of an answer's peak, in ns since the recording's start; false if there is no peak or its
// time is not known.
func (in *Input) PeakTime(a *query.Answer) (int64, bool) {
	if a.Total.PeakBytes == 0 || in.Reader.Merged() != nil {
		return 0, false
	}
	at, err := in.Reader.TimeAt(a.PeakAt)
	return at, err == nil
}

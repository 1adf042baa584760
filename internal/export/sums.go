package export

import (
	"errors"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

// OnlySums reports whether an error says that what was asked for needs events where there are sums only: they were folded, or several
// recordings were merged.
func OnlySums(err error) bool {
	var f *recording.FoldedError
	var m *recording.MergedError
	return errors.As(err, &f) || errors.As(err, &m)
}

// PeakTime is when the peak of an answer was, ns since the recording's start; false if there is none or its moment is not known.
func (in *Input) PeakTime(a *query.Answer) (int64, bool) {
	if a.Total.PeakBytes == 0 || in.Reader.Merged() != nil {
		return 0, false
	}
	at, err := in.Reader.TimeAt(a.PeakAt)
	return at, err == nil
}

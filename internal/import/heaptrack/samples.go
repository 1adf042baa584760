package heaptrack

import (
	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// heaptrack samples the resident set every 10 ms. The first allSamples are all kept: three hours. After that, one
// sample is kept for each 16,384th of the time so far, with the maximum: the shortest line of a file, R and a number,
// must not cost a sample each.
const (
	allSamples = 1 << 20
	fineness   = 14
)

// rss is the resident set over time.
type rss struct {
	kept int
	last int64 // time of the latest sample, in ns
	most int64 // maximum since then, in bytes; 0: no sample
}

func (s *rss) add(w *recording.Writer, now, size int64) {
	s.most = max(s.most, size)
	if s.kept < allSamples || now-s.last > now>>fineness {
		s.write(w, now)
	}
}

func (s *rss) write(w *recording.Writer, now int64) {
	w.Sample(event.Sample{Time: now, RSS: s.most, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1,
		SystemFree:   -1,
		SystemCached: -1})
	s.kept++
	s.last, s.most = now, 0
}

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

func (r *rss) add(w *recording.Writer, now, size int64) {
	r.most = max(r.most, size)
	if r.kept < allSamples || now-r.last > now>>fineness {
		r.write(w, now)
	}
}

func (r *rss) write(w *recording.Writer, now int64) {
	w.Sample(event.Sample{Time: now, RSS: r.most, Virtual: -1, Swap: -1, PSS: -1, MinorFaults: -1, MajorFaults: -1,
		SystemFree:   -1,
		SystemCached: -1})
	r.kept++
	r.last, r.most = now, 0
}

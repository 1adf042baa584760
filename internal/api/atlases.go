package api

import (
	"context"
	"slices"
	"sync"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// maxAtlasBytes bounds the atlases of all open recordings together.
const maxAtlasBytes = 128 << 20

// States of an opened recording's atlas.
const (
	atlasComing uint32 = iota // it is being made, or waits for that
	atlasThere
	atlasNone // there is none: the events are gone or still come, or others needed the room
)

// atlases makes the atlases of recordings that were opened, and then prepares their timelines, one at a time, in the
// background: that takes from a tenth of a second to some seconds. The recording that was asked last comes first. Until
// there is an atlas, its recording's questions are answered exactly.
type atlases struct {
	cache *atlas.Cache  // nil: they are not kept
	news  chan struct{} // has an element when there is something to do

	mu        sync.Mutex
	charts    []*opened          // those that need an atlas
	timelines []*opened          // those whose timelines are to be prepared
	interrupt context.CancelFunc // ends the preparation of a timeline
}

// chart has an opened recording get its atlas.
func (a *API) chart(o *opened) {
	if o.source.Reader.Live() { // it would be made again each second
		o.atlas.Store(atlasNone)
		return
	}
	w := &a.atlases
	w.mu.Lock()
	defer w.mu.Unlock()
	w.charts = append(w.charts, o)
	if w.interrupt != nil {
		w.interrupt() // what is prepared by now is not lost
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// chartAll works in the background until the API is closed.
func (a *API) chartAll() {
	for {
		select {
		case <-a.atlases.news:
			for a.ctx.Err() == nil && a.chartNext() {
			}
		case <-a.ctx.Done():
			return
		}
	}
}

// chartNext makes an atlas or prepares a timeline, and reports whether there was one to do.
func (a *API) chartNext() bool {
	w := &a.atlases
	w.mu.Lock()
	if o := a.shelf.takeLatest(&w.charts); o != nil {
		w.mu.Unlock()
		defer a.shelf.release(o)
		a.makeAtlas(o)
		return true
	}
	o := a.shelf.takeLatest(&w.timelines)
	if o == nil {
		w.mu.Unlock()
		return false
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	w.interrupt = cancel
	w.mu.Unlock()
	defer a.shelf.release(o)
	_, _ = guarded(func() (any, error) { // without it, exact timelines take longer
		return nil, query.PrepareTimeline(ctx, o.source, a.atlases.cache, func(int, int) {
			if a.shelf.isStale(o) {
				cancel() // it is to be closed
			}
		})
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupt = nil
	if ctx.Err() != nil {
		w.timelines = append(w.timelines, o)
	}
	return true
}

// makeAtlas gives a recording its atlas.
func (a *API) makeAtlas(o *opened) {
	made, err := guarded(func() (*atlas.Atlas, error) {
		return a.atlases.cache.Load(a.ctx, o.source.Reader, atlas.Options{})
	})
	if err != nil {
		o.atlas.Store(atlasNone)
		return
	}
	a.shelf.giveAtlas(o, made)
	a.atlases.mu.Lock()
	defer a.atlases.mu.Unlock()
	a.atlases.timelines = append(a.atlases.timelines, o)
}

// isStale reports whether a recording is closed once nobody uses it.
func (s *shelf) isStale(o *opened) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.stale
}

// takeLatest takes the recording that was asked last from a list, and uses it. Those that were closed leave the list.
// nil: there is none.
func (s *shelf) takeLatest(list *[]*opened) (latest *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*list = slices.DeleteFunc(*list, func(o *opened) bool { return o.stale })
	for _, o := range slices.Backward(s.open) {
		if i := slices.Index(*list, o); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
			o.users++
			return o
		}
	}
	return nil
}

// giveAtlas has a recording use its atlas. If all atlases together take too much room, those go whose recordings were
// not used for longest.
func (s *shelf) giveAtlas(o *opened, made *atlas.Atlas) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.atlasBytes = made.Size()
	o.source.UseAtlas(made)
	o.atlas.Store(atlasThere)
	sum := int64(0)
	for _, x := range s.open {
		sum += x.atlasBytes
	}
	for _, x := range s.open {
		if sum > maxAtlasBytes && x != o && x.atlasBytes > 0 {
			sum -= x.atlasBytes
			x.atlasBytes = 0
			x.source.UseAtlas(nil)
			x.atlas.Store(atlasNone)
		}
	}
	s.trim()
}

// curve asks the atlas for a curve.
func curve(ctx context.Context, c *call, q *query.Query, match func(*query.Group) bool) (*query.Curve, error) {
	x, err := query.CurveOf(ctx, c.s, q, match)
	switch {
	case err == nil:
		return x, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.rec.atlas.Load() == atlasComing:
		return nil, &Error{Status: 503, Code: "not-ready", What: "the recording's atlas is being made",
			Do: "ask again in a second, or ask for a timeline"}
	}
	return nil, &Error{Status: 409, Code: "no-curve", What: err.Error(), Do: "ask for a timeline"}
}

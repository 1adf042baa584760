package api

import (
	"context"
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

// atlases makes the atlases of recordings that were opened, one at a time, in the background: that takes from a tenth
// of a second to some seconds. Until one is there, its recording's questions are answered exactly.
type atlases struct {
	cache  *atlas.Cache // nil: they are not kept
	turn   chan struct{}
	levels chan struct{} // the turn to prepare timelines, which takes up to half a minute of one processor
}

// chart gives an opened recording its atlas.
func (a *API) chart(o *opened) {
	defer func() { // a fault must not end the server
		if recover() != nil {
			o.atlas.CompareAndSwap(atlasComing, atlasNone)
		}
	}()
	if o.source.Reader.Live() { // it would be made again each second
		o.atlas.Store(atlasNone)
		return
	}
	select {
	case a.atlases.turn <- struct{}{}:
	case <-o.closed:
		return
	case <-a.ctx.Done():
		return
	}
	done := sync.OnceFunc(func() { <-a.atlases.turn })
	defer done()
	if !a.shelf.keep(o) {
		return // it was closed meanwhile
	}
	defer a.shelf.release(o)
	made, err := a.atlases.cache.Load(a.ctx, o.source.Reader, atlas.Options{})
	if err != nil {
		o.atlas.Store(atlasNone)
		return
	}
	a.shelf.giveAtlas(o, made)
	done()
	a.prepareTimeline(o)
}

// prepareTimeline has an opened recording know what exact timelines need, which else take longer. It ends when the
// recording is to be closed.
func (a *API) prepareTimeline(o *opened) {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	select {
	case a.atlases.levels <- struct{}{}:
		defer func() { <-a.atlases.levels }()
	case <-ctx.Done():
		return
	}
	_ = query.PrepareTimeline(ctx, o.source, a.atlases.cache, func(int, int) {
		if a.shelf.keep(o) {
			a.shelf.release(o)
		} else {
			cancel()
		}
	})
}

// keep uses a recording that is open, and reports whether it is.
func (s *shelf) keep(o *opened) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.stale {
		return false
	}
	o.users++
	return true
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

// Package api answers questions about recordings over HTTP: GET /api/v1/session, and
// GET /api/v1/r/RECORDING/QUESTION?PARAMETERS. docs/api-http.md describes it.
//
// A shelf holds the recordings. Questions and parameters are tables, in questions.go and parameters.go: from these come
// the routes, docs/openapi.json and ui/src/api.ts. A request is first read, so that a question has one canonical form;
// then its answer is looked for in the cache; else it waits for its turn in its lane, is answered by package query as
// the command line is, and encoded by package columns.
//
// Who may ask is decided elsewhere: the handler trusts whoever reaches it.
package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording/atlas"
	"github.com/heaptap/heaptap/internal/source"
)

// Options say what an API answers questions about, and what it may do.
type Options struct {
	Version  string        // of heaptap
	Finder   *input.Finder // finds the recordings
	Args     []string      // what the user named; nil: the last run made here
	ReadOnly bool          // no notes are written
	NoSource bool          // no source files are read
	Source   source.Finder // where they are looked for, beside the recorded paths
	Code     owncode.Rules // whose code functions are
	Atlases  *atlas.Cache  // keeps atlases between sessions; nil: nothing does. The API does not close it
	Ahead    bool          // a single recording is opened before anybody asks: a browser is being started meanwhile
	Sample   *query.Sample // from what rough answers are estimated; nil: query.QuickSample
}

// API answers questions about the recordings of a session. It is an http.Handler for the paths below /api/v1/.
type API struct {
	options Options
	shelf   *shelf
	lanes   *lanes
	cache   cache
	shared  flights[asking, packed]
	atlases atlases
	mux     *http.ServeMux
	writing sync.Mutex // held while notes are written

	patience time.Duration // slow, but in tests

	ctx     context.Context // ends when the API is closed
	end     context.CancelCauseFunc
	workers sync.WaitGroup
}

// New finds the recordings. They are read in the background; requests wait for that.
func New(ctx context.Context, o Options) (*API, error) {
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	shelf, err := newShelf(ctx, own, o.Finder, o.Args)
	if err != nil {
		end(err)
		return nil, err
	}
	a := &API{options: o, ctx: own, end: end, shelf: shelf, lanes: newLanes(), cache: newCache(),
		shared: flights[asking, packed]{patient: true}, mux: http.NewServeMux(), patience: slow}
	a.atlases.cache, a.atlases.news = o.Atlases, make(chan struct{}, 1)
	shelf.made, shelf.code = a.chart, o.Code
	a.workers.Go(a.chartAll)
	if o.Ahead {
		a.workers.Go(a.openAhead)
	}
	a.mux.HandleFunc("/api/v1/session", a.session)
	a.mux.HandleFunc("/api/v1/files", a.receive)
	a.mux.HandleFunc("/api/v1/r/{recording}/notes", a.notes)
	a.mux.HandleFunc("/api/v1/r/{recording}/{question}", a.question)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &Error{Status: http.StatusNotFound, Code: "unknown-path", What: "there is nothing at this path",
			Do: "GET /api/v1/session, or /api/v1/r/RECORDING/QUESTION"})
	})
	return a, nil
}

// openAhead opens a single recording. What is wrong with it is said to whoever asks.
func (a *API) openAhead() {
	if a.shelf.wait(a.ctx) != nil {
		return
	}
	if e := a.shelf.only(); e != nil {
		if o, err := a.shelf.acquire(a.ctx, e); err == nil {
			a.shelf.release(o)
		}
	}
}

// Wait waits until all recordings have been found. It returns an error if none of them can be read: then there is
// nothing to serve.
func (a *API) Wait(ctx context.Context) error { return a.shelf.wait(ctx) }

// Close cancels the requests that are being answered, waits for them, and closes the recordings.
func (a *API) Close() error {
	a.end(errClosed)
	a.workers.Wait()
	a.shared.wait()
	a.shelf.close()
	a.cache.Leave()
	return nil
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

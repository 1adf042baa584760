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

	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/recording/atlas"
)

// Options say what an API answers questions about, and what it may do.
type Options struct {
	Version  string        // of heaptap
	Finder   *input.Finder // finds the recordings
	Args     []string      // what the user named; nil: the last run made here
	ReadOnly bool          // no notes are written
	NoSource bool          // no source files are read
	Atlases  *atlas.Cache  // keeps atlases between sessions; nil: nothing does. The API does not close it
}

// API answers questions about the recordings of a session. It is an http.Handler for the paths below /api/v1/.
type API struct {
	options Options
	shelf   *shelf
	lanes   *lanes
	cache   *cache
	atlases atlases
	mux     *http.ServeMux
	writing sync.Mutex // held while notes are written

	ctx     context.Context // ends when the API is closed
	end     context.CancelCauseFunc
	workers sync.WaitGroup
}

// cacheBytes is how many bytes of encoded answers are kept.
const cacheBytes = 64 << 20

// New finds the recordings. They are read in the background; requests wait for that.
func New(ctx context.Context, o Options) (*API, error) {
	own, end := context.WithCancelCause(context.WithoutCancel(ctx))
	shelf, err := newShelf(ctx, own, o.Finder, o.Args)
	if err != nil {
		end(err)
		return nil, err
	}
	a := &API{options: o, ctx: own, end: end, shelf: shelf, lanes: newLanes(), cache: newCache(cacheBytes),
		atlases: atlases{o.Atlases, make(chan struct{}, 1), make(chan struct{}, 1)}, mux: http.NewServeMux()}
	shelf.made = func(opened *opened) { a.workers.Go(func() { a.chart(opened) }) }
	a.mux.HandleFunc("/api/v1/session", a.session)
	a.mux.HandleFunc("/api/v1/r/{recording}/notes", a.notes)
	a.mux.HandleFunc("/api/v1/r/{recording}/{question}", a.question)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &Error{Status: http.StatusNotFound, Code: "unknown-path", What: "there is nothing at this path",
			Do: "GET /api/v1/session, or /api/v1/r/RECORDING/QUESTION"})
	})
	return a, nil
}

// Close cancels the requests that are being answered, waits for them, and closes the recordings.
func (a *API) Close() error {
	a.end(errClosed)
	a.workers.Wait()
	a.shelf.close()
	return nil
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

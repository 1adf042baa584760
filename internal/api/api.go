// Package api answers questions about recordings over HTTP.
package api

import (
	"context"
	"net/http"

	"github.com/heaptap/heaptap/internal/input"
)

// Options say what an API answers questions about, and what it may do.
type Options struct {
	Version  string        // of heaptap
	Finder   *input.Finder // finds the recordings
	Args     []string      // what the user named; nil: the last run made here
	ReadOnly bool          // no notes are written
	NoSource bool          // no source files are read
}

// API answers questions about the recordings of a session. It is an http.Handler for the paths below /api/v1/.
type API struct{}

// New finds the recordings.
func New(ctx context.Context, o Options) (*API, error) { return &API{}, nil }

// Close stops what goes on in the background and closes the recordings.
func (a *API) Close() error { return nil }

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

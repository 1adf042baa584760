package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/internal/recording"
)

// Error is the answer to a request that cannot be answered.
type Error struct {
	Status   int      `json:"-"`
	Code     string   `json:"error"`              // a word that stays the same
	What     string   `json:"what"`               // is wrong
	Where    string   `json:"where"`              // the parameter, or a part of the path; "": neither
	Do       string   `json:"do"`                 // what to do; "": nothing helps
	Position *int     `json:"position,omitempty"` // byte of the parameter's value
	Nearest  *Nearest `json:"nearest,omitempty"`  // moments that can be answered
}

// Nearest are the moments nearest to one whose events were folded.
type Nearest struct {
	BeforeNS int64 `json:"before_ns"` // at or before it
	AfterNS  int64 `json:"after_ns"`  // at or after it
	FromNS   int64 `json:"from_ns"`   // from here on, all events are there
}

func (e *Error) Error() string { return strings.TrimPrefix(e.Where+": "+e.What, ": ") }

// Causes of cancelled requests.
var (
	errSuperseded = &Error{Status: statusClosed, Code: "superseded", What: "a newer request of the same lane came in",
		Where: laneHeader, Do: "use its answer"}
	errBusy = &Error{Status: http.StatusServiceUnavailable, Code: "busy", What: "too many requests are waiting",
		Do: "repeat the request in a second"}
	errClosed = &Error{Status: http.StatusServiceUnavailable, Code: "closed", What: "the server is ending"}
)

// statusClosed is the status of a request that nobody waits for any more. No client sees it unless another request
// replaced its own.
const statusClosed = 499

func badParameter(name, what, do string) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "bad-parameter", What: what, Where: name, Do: do}
}

// asError makes the answer of an error.
func asError(ctx context.Context, err error) *Error {
	var known *Error
	var wrong *question.Error
	var folded *recording.FoldedError
	var merged *recording.MergedError
	switch {
	case errors.As(context.Cause(ctx), &known), errors.As(err, &known):
		return known
	case errors.As(err, &wrong):
		return ofFlag(wrong)
	case errors.As(err, &folded):
		return &Error{Status: http.StatusConflict, Code: "folded", What: folded.Error(), Where: "from",
			Do: fmt.Sprintf("ask from %dns on, or at %dns or %dns", folded.Time, folded.BeforeTime,
				folded.AfterTime),
			Nearest: &Nearest{folded.BeforeTime, folded.AfterTime, folded.Time}}
	case errors.As(err, &merged):
		return &Error{Status: http.StatusConflict, Code: "merged", What: merged.Error(),
			Do: "ask for sums of the whole"}
	case errors.Is(err, query.ErrNotAtOnce):
		return &Error{Status: http.StatusConflict, Code: "not-at-once", What: err.Error(), Where: "rough",
			Do: "ask without rough"}
	case ctx.Err() == nil:
		return &Error{Status: http.StatusInternalServerError, Code: "failed", What: err.Error()}
	case errors.Is(context.Cause(ctx), context.Canceled): // net/http gives no cause of its own
		return &Error{Status: statusClosed, Code: "cancelled", What: "the client has gone"}
	}
	return &Error{Status: http.StatusServiceUnavailable, Code: "closed", What: context.Cause(ctx).Error(),
		Do: "start heaptap again, or use the address that it prints on Enter"}
}

// ofFlag makes the answer of an error that begins with a flag: "--NAME: WHAT", or "--NAME VALUE is WHAT".
func ofFlag(err error) *Error {
	what := strings.TrimPrefix(err.Error(), "--")
	name := what[:max(0, strings.IndexAny(what, ": "))]
	what = strings.TrimPrefix(what, name+": ")
	return badParameter(name, what, "docs/api-http.md and docs/queries.md describe the parameters")
}

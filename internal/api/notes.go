package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/heaptap/heaptap/internal/notes"
)

// Notes are what the user has written about the recordings of a run: one file beside the run. They are read with GET,
// and replaced with POST.
type Notes struct {
	Text string `json:"text"` // "": there are none
}

// notes reads or writes the notes of a recording's run.
func (a *API) notes(w http.ResponseWriter, r *http.Request) {
	e, err := a.shelf.find(r.Context(), r.PathValue("recording"))
	switch {
	case err != nil:
	case r.URL.RawQuery != "":
		err = badParameter("", "notes have no parameters", "leave them out")
	case r.Method == http.MethodPost:
		err = a.writeNotes(w, r, e.set.address())
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		err = onlyGet(r)
	}
	if err != nil {
		refuse(w, asError(r.Context(), err))
		return
	}
	a.begin(w, r, &job{work: func(_ context.Context, p *progress) (any, error) {
		text, err := notes.Read(e.set.address())
		p.tag.Store(notesTag(text))
		return &Notes{string(text)}, err
	}})
}

// address is the path beside which the notes are.
func (set *runSet) address() string {
	if set.temp {
		return set.arg // what was converted is in a temporary folder
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.run.Path()
}

func notesTag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// writeNotes replaces the notes, unless the request names the tag of other notes than are there: somebody else has
// changed them.
func (a *API) writeNotes(w http.ResponseWriter, r *http.Request, address string) error {
	if a.options.ReadOnly {
		return &Error{Status: http.StatusForbidden, Code: "forbidden", What: "notes are not written here",
			Do: "start heaptap without --read-only"}
	}
	var n Notes
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*notes.Max))
	body.DisallowUnknownFields()
	var large *http.MaxBytesError
	switch err := body.Decode(&n); {
	case errors.As(err, &large):
		return tooLarge()
	case err != nil:
		return badParameter("body", fmt.Sprintf("the body cannot be read: %v", err), `send {"text": "..."}`)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if tag := r.Header.Get("If-Match"); tag != "" {
		if text, err := notes.Read(address); err != nil || !matches(tag, notesTag(text)) {
			return errors.Join(err, &Error{Status: http.StatusPreconditionFailed, Code: "changed",
				What: "the notes were changed by somebody else", Where: "If-Match", Do: "read them again"})
		}
	}
	err := notes.Write(address, []byte(n.Text))
	if errors.Is(err, notes.ErrTooLarge) {
		return tooLarge()
	}
	return err
}

func tooLarge() *Error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Code: "too-large", Where: "body",
		What: fmt.Sprintf("notes are limited to %d bytes", notes.Max), Do: "shorten them"}
}

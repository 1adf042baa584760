package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/heaptap/heaptap/internal/columns"
	"github.com/heaptap/heaptap/internal/spelling"
)

// A request that is not answered within slow gets lines instead: progress now and then, and the answer as the last one.
const (
	slow         = 200 * time.Millisecond
	progressEach = 250 * time.Millisecond
)

// maxAnswer bounds an encoded answer, in bytes.
const maxAnswer = 64 << 20

// session lists the recordings.
func (a *API) session(w http.ResponseWriter, r *http.Request) {
	if err := onlyGet(r); err != nil {
		refuse(w, err)
		return
	}
	if r.URL.RawQuery != "" {
		refuse(w, badParameter("", "session has no parameters", "leave them out"))
		return
	}
	a.begin(w, r, &job{work: func(ctx context.Context, _ *progress) (any, error) {
		runs, err := a.shelf.session(ctx)
		if err != nil {
			return nil, err
		}
		return &Session{a.options.Version, a.options.ReadOnly, a.options.NoSource, runs,
			append([]Unreadable{}, a.shelf.unreadable...)}, nil
	}})
}

// question answers a question about a recording.
func (a *API) question(w http.ResponseWriter, r *http.Request) {
	j, err := a.read(r)
	if err != nil {
		refuse(w, asError(r.Context(), err))
		return
	}
	if identity, generation, ok := a.shelf.known(j.entry); ok {
		tag := a.tag(j, identity, generation)
		if unchanged(w, r, tag) {
			return
		}
		if body := a.cache.get(tag); body != nil {
			send(w, r, tag, body)
			return
		}
	}
	a.begin(w, r, j)
}

// job is a request that has been read.
type job struct {
	entry     *entry // nil: it is about none
	question  *Question
	canonical string
	asked     *asked
	work      func(ctx context.Context, p *progress) (any, error)
}

// read reads a request.
func (a *API) read(r *http.Request) (*job, error) {
	if err := onlyGet(r); err != nil {
		return nil, err
	}
	e, err := a.shelf.find(r.Context(), r.PathValue("recording"))
	if err != nil {
		return nil, err
	}
	name := r.PathValue("question")
	i := slices.IndexFunc(Questions, func(q Question) bool { return q.Name == name })
	if i < 0 {
		return nil, unknownQuestion(name)
	}
	q := &Questions[i]
	asked, canonical, err := q.read(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	j := &job{entry: e, question: q, canonical: canonical, asked: asked}
	j.work = func(ctx context.Context, p *progress) (any, error) { return a.answer(ctx, j, p) }
	return j, nil
}

func unknownQuestion(name string) *Error {
	var names []string
	for i := range Questions {
		names = append(names, Questions[i].Name)
	}
	near := ""
	if len(name) <= 64 {
		near = spelling.DidYouMean(name, names)
	}
	return &Error{Status: http.StatusNotFound, Code: "unknown-question", Where: "question",
		What: fmt.Sprintf("%.64q is not a question%s", name, near), Do: "known are " + strings.Join(names, ", ")}
}

func onlyGet(r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &Error{Status: http.StatusMethodNotAllowed, Code: "bad-method", What: r.Method + " is not allowed here",
			Do: "use GET"}
	}
	return nil
}

// tag is the entity tag of an answer; "": it has none.
func (a *API) tag(j *job, identity string, generation uint64) string {
	if j.question.Changing {
		return ""
	}
	text := fmt.Sprintf("%s\x00%v\x00%s\x00%d\x00%s?%s", a.options.Version, a.options.Code, identity, generation,
		j.question.Name, j.canonical)
	sum := sha256.Sum256([]byte(text))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// matches reports whether an If-None-Match header has a tag.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}

// unchanged tells a client that it has the answer with a tag, if it does.
func unchanged(w http.ResponseWriter, r *http.Request, tag string) bool {
	if tag == "" || !matches(r.Header.Get("If-None-Match"), tag) {
		return false
	}
	head(w, tag)
	w.WriteHeader(http.StatusNotModified)
	return true
}

// answer answers a question. Requests that ask the same at the same time share the work.
func (a *API) answer(ctx context.Context, j *job, p *progress) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := a.shelf.acquire(ctx, j.entry)
	if err != nil {
		return nil, err
	}
	defer a.shelf.release(o)
	tag := a.tag(j, o.identity, o.generation)
	p.tag.Store(tag)
	if body := a.cache.get(tag); body != nil { // a recording that may have grown, and has not
		return packed(body), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key := asking{o, j.question.Name, j.canonical}
	return a.shared.do(ctx, key, p, func() func(ctx context.Context, p *progress) (packed, error) {
		a.shelf.hold(o) // who began may leave before the others
		return func(ctx context.Context, p *progress) (packed, error) {
			defer a.shelf.release(o)
			body, err := a.compute(ctx, j, o, p)
			if err == nil && tag != "" {
				a.cache.put(tag, body)
			}
			return body, err
		}
	})
}

// asking is a question that is put to an open recording. Requests with the same one have the same answer.
type asking struct {
	of                  *opened
	question, canonical string
}

// compute answers a question about an open recording. The answer is encoded here: it refers to the recording, which may
// be closed afterwards.
func (a *API) compute(ctx context.Context, j *job, o *opened, p *progress) (packed, error) {
	c := &call{asked: j.asked, s: o.source, rec: o, shelf: a.shelf, options: &a.options, progress: p.set}
	c.filters = j.filters()
	defer func() {
		for _, other := range c.held {
			a.shelf.release(other)
		}
	}()
	x, err := j.question.put(ctx, c)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	plain, err := encode(x)
	if err != nil {
		return nil, err
	}
	return compress(plain), nil
}

// filters are the filters that were given, as the command line writes them.
func (j *job) filters() (list []string) {
	given := j.asked.given
	for _, name := range filters {
		for _, v := range given[name] {
			list = append(list, "--"+name+" "+v)
		}
	}
	return list
}

// progress is how far an answer is.
type progress struct {
	done, total atomic.Uint64
	tag         atomic.Value // string, once the recording is open
	work        atomic.Pointer[progress]
}

func (p *progress) set(done, total uint64) {
	p.total.Store(total)
	p.done.Store(done)
}

// follow has the progress be that of work that others wait for, too.
func (p *progress) follow(work *progress) {
	if p != nil {
		p.work.Store(work)
	}
}

// line says how far the answer is, and what is done.
func (p *progress) line() []byte {
	type message struct {
		Progress Progress `json:"progress"`
	}
	m := message{Progress{Doing: "waiting"}}
	if _, open := p.tag.Load().(string); open {
		m.Progress.Doing = "counting"
	}
	work := cmp.Or(p.work.Load(), p)
	if total := work.total.Load(); total > 0 {
		share := min(float64(work.done.Load())/float64(total), 1)
		m.Progress = Progress{&share, "reading events"}
	}
	b, _ := json.Marshal(m) // numbers cannot fail
	return append(b, '\n')
}

// packed is an encoded answer, compressed.
type packed []byte

// result is an answer, or why there is none.
type result struct {
	body packed
	err  error
}

// begin answers a job when it is its turn.
func (a *API) begin(w http.ResponseWriter, r *http.Request, j *job) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })
	defer stop()
	p := &progress{}
	done := make(chan result, 1)
	if a.ctx.Err() != nil {
		refuse(w, errClosed)
		return
	}
	a.workers.Go(func() { done <- a.run(ctx, r.Header, j, p) })
	timer := time.NewTimer(a.patience)
	defer timer.Stop()
	select {
	case x := <-done:
		a.finish(w, r, p, x)
	case <-timer.C:
		a.stream(w, r, p, done)
	}
}

// run does the work of a job.
func (a *API) run(ctx context.Context, h http.Header, j *job, p *progress) (x result) {
	lane, leave, err := a.lanes.enter(ctx, h)
	if err != nil {
		return result{err: asError(ctx, err)}
	}
	defer leave()
	body, err := guarded(func() (any, error) { return j.work(lane, p) })
	if err == nil && lane.Err() != nil {
		err = context.Cause(lane)
	}
	if err != nil {
		return result{err: asError(lane, err)}
	}
	if b, ok := body.(packed); ok {
		return result{body: b}
	}
	plain, err := encode(body)
	if err != nil {
		return result{err: asError(lane, err)}
	}
	return result{body: compress(plain)}
}

// guarded does work. A fault is an error: it must not end the server, and with it the user's other pages.
func guarded[T any](work func() (T, error)) (x T, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = &Error{Status: http.StatusInternalServerError, Code: "failed",
				What: fmt.Sprintf("heaptap has a fault: %v", fault),
				Do:   "please report it, with the recording if you can"}
		}
	}()
	return work()
}

func encode(answer any) ([]byte, error) {
	body, err := columns.Encode(answer)
	if err == nil && len(body) > maxAnswer {
		err = &Error{Status: http.StatusBadRequest, Code: "too-large",
			What: fmt.Sprintf("the answer has %d bytes, and may have %d", len(body), maxAnswer),
			Do:   "ask for fewer rows, or with a filter"}
	}
	return body, err
}

// finish sends an answer, or the error.
func (a *API) finish(w http.ResponseWriter, r *http.Request, p *progress, x result) {
	if x.err != nil {
		refuse(w, asError(r.Context(), x.err))
		return
	}
	tag, _ := p.tag.Load().(string)
	if r.Method == http.MethodPost || !unchanged(w, r, tag) {
		send(w, r, tag, x.body)
	}
}

// stream sends lines: progress, until there is the answer or an error, which is the last line.
func (a *API) stream(w http.ResponseWriter, r *http.Request, p *progress, done <-chan result) {
	tag, _ := p.tag.Load().(string)
	head(w, tag)
	w.Header().Set("Content-Type", "application/x-ndjson")
	var out io.Writer = w
	flush := http.NewResponseController(w).Flush
	if accepts(r) {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
		defer z.Close()
		out, flush = z, func() error {
			if err := z.Flush(); err != nil {
				return err
			}
			return http.NewResponseController(w).Flush()
		}
	}
	w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(progressEach)
	defer ticker.Stop()
	for {
		if _, err := out.Write(p.line()); err != nil {
			return // the client has gone; its context ends the work
		}
		if err := flush(); err != nil {
			return
		}
		select {
		case x := <-done:
			line := append(expand(x.body), '\n')
			if x.err != nil {
				line = asError(r.Context(), x.err).line()
			}
			_, _ = out.Write(line) // a client that has gone needs no answer
			return
		case <-ticker.C:
		}
	}
}

func (e *Error) line() []byte {
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false)
	_ = j.Encode(e) // texts and numbers cannot fail
	return b.Bytes()
}

// refuse sends an error.
func refuse(w http.ResponseWriter, err error) {
	e := asError(context.Background(), err)
	head(w, "")
	w.Header().Set("Content-Type", "application/json")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if e.Status == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
		w.Header().Set("Allow", "GET, HEAD")
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(e.line())
}

// head sets the headers of all answers.
func head(w http.ResponseWriter, tag string) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-store")
	if tag != "" {
		h.Set("Cache-Control", "private, no-cache") // may be kept, and is asked for again each time
		h.Set("ETag", tag)
	}
}

// send sends a compressed answer.
func send(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	head(w, tag)
	w.Header().Set("Content-Type", "application/json")
	if accepts(r) {
		w.Header().Set("Content-Encoding", "gzip")
	} else {
		body = append(expand(body), '\n')
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has gone needs no answer
	}
}

// accepts reports whether the client reads gzip.
func accepts(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, parameters, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return wanted(parameters)
		}
	}
	return false
}

// wanted reports whether the parameters of a coding give it a weight above 0. One that cannot be read refuses it: every
// client reads what is not compressed.
func wanted(parameters string) bool {
	for one := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(one, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight > 0
		}
	}
	return true
}

func compress(plain []byte) packed {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(plain)                           // memory does not fail
	_ = z.Close()
	return b.Bytes()
}

func expand(body []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(z) // it was just compressed
	return plain
}

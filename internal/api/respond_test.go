package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/input"
)

// waitFor waits until a condition holds.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it does not come to hold")
		}
	}
}

// newAPI returns an API of recordings, which the test closes.
func newAPI(t testing.TB, paths ...string) *API {
	t.Helper()
	a, err := New(t.Context(), Options{Version: "1", Finder: &input.Finder{}, Args: paths})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.shelf.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Patient()
	return a
}

// small writes one small recording.
func small(t testing.TB) string {
	t.Helper()
	return apitest.Recordings(t)[0]
}

// working serves a job whose work is a function.
func working(t *testing.T, a *API, work func(ctx context.Context, p *progress) (any, error)) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.begin(w, r, &job{work: work})
	}))
	t.Cleanup(s.Close)
	return s
}

// TestStream: an answer that takes long comes as lines, of which the last one is the answer or the error.
func TestStream(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	a.patience = slow
	for _, c := range []struct {
		encoding, want string
		err            error
	}{
		{"identity", `{"answer":{"version":"v","read_only":false,`, nil},
		{"gzip", `{"answer":{"version":"v","read_only":false,`, nil},
		{"identity", `{"error":"folded","what":"x","where":"","do":""}`,
			&Error{Status: 409, Code: "folded", What: "x"}},
		{"gzip", `{"error":"failed","what":"it broke"`, errors.New("it broke")},
	} {
		release := make(chan struct{})
		s := working(t, a, func(ctx context.Context, p *progress) (any, error) {
			p.set(1, 4)
			select {
			case <-release:
			case <-ctx.Done():
			}
			return &Session{Version: "v"}, c.err
		})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", c.encoding)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = resp.Body
		if c.encoding == "gzip" {
			if body, err = gzip.NewReader(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		lines := bufio.NewReader(body)
		first, err := lines.ReadString('\n')
		if err != nil || first != `{"progress":{"share":0.25,"doing":"reading events"}}`+"\n" {
			t.Errorf("%q, %v", first, err)
		}
		close(release)
		last := ""
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				if err != io.EOF || line != "" {
					t.Errorf("%q, %v", line, err)
				}
				break
			}
			last = line
		}
		resp.Body.Close()
		if !strings.HasPrefix(last, c.want) || resp.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s; want %s; %v", last, c.want, resp.Header)
		}
	}
}

// TestFault: a fault of the program is an error of one request.
func TestFault(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	w := httptest.NewRecorder()
	a.begin(w, httptest.NewRequest(http.MethodGet, "/", nil), &job{work: func(context.Context, *progress) (any, error) {
		panic("index out of range")
	}})
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "index out of range") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := len(a.lanes.classes["view"].workers); n != 0 {
		t.Errorf("%d workers are busy", n)
	}
}

// TestClose: Close cancels what is being answered, and waits for it; later requests are refused.
func TestClose(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	started, cause := make(chan struct{}), error(nil)
	s := working(t, a, func(ctx context.Context, _ *progress) (any, error) {
		close(started)
		<-ctx.Done()
		cause = context.Cause(ctx)
		return nil, ctx.Err()
	})
	go func() {
		if resp, err := http.Get(s.URL); err == nil {
			resp.Body.Close()
		}
	}()
	<-started
	if err := a.Close(); err != nil || !errors.Is(cause, errClosed) {
		t.Errorf("%v, cancelled because %v", err, cause)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/session", nil))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestStopped: the end of the server is not the client's: a request says why it ended, also when lines were sent.
func TestStopped(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	a.patience = slow
	cause := errors.New("heaptap was stopped")
	want := &Error{Status: http.StatusServiceUnavailable, Code: "closed", What: cause.Error()}
	serve := func(started func(), stop <-chan struct{}) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancelCause(r.Context())
			defer cancel(nil)
			go func() {
				<-stop
				cancel(cause)
			}()
			a.begin(w, r.WithContext(ctx), &job{work: func(ctx context.Context, _ *progress) (any, error) {
				started()
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		}))
		t.Cleanup(s.Close)
		return s
	}
	check := func(where string, text []byte) {
		t.Helper()
		text = bytes.TrimSpace(text)
		text = text[bytes.LastIndexByte(text, '\n')+1:]
		var got Error
		if err := json.Unmarshal(text, &got); err != nil || got.Code != want.Code || got.What != want.What {
			t.Errorf("%s: %s, %v", where, text, err)
		}
	}
	stop := make(chan struct{})
	s := serve(func() { close(stop) }, stop)
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	check("at once", body)

	stop = make(chan struct{})
	s = serve(func() {}, stop)
	if resp, err = http.Get(s.URL); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	first, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(first, "progress") {
		t.Errorf("%q, %v", first, err)
	}
	close(stop)
	body, err = io.ReadAll(lines)
	if err != nil {
		t.Error(err)
	}
	check("after lines", body)
	if e := asError(t.Context(), errors.New("x")); e.Code != "failed" {
		t.Errorf("%+v", e)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if e := asError(gone, gone.Err()); e.Code != "cancelled" {
		t.Errorf("%+v", e)
	}
}

// TestCancelled: a client that disconnects cancels the work.
func TestCancelled(t *testing.T) {
	t.Parallel()
	a := newAPI(t, small(t))
	defer a.Close()
	started, ended := make(chan struct{}), make(chan struct{})
	s := working(t, a, func(ctx context.Context, _ *progress) (any, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		cancel()
	}()
	if resp, err := http.DefaultClient.Do(r); err == nil {
		_, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	<-ended
}

// TestAborts: 50 clients that abort at random leave no goroutine and no descriptor behind.
func TestAborts(t *testing.T) {
	paths := apitest.Recordings(t)
	goroutines, descriptors := runtime.NumGoroutine(), openFiles(t)
	a := newAPI(t, paths...)
	s := httptest.NewServer(a)
	var ids []string
	for _, set := range a.shelf.sets {
		ids = append(ids, set.entries[0].id)
	}
	questions := []string{"top", "tree", "report", "leaks", "hist", "threads", "timeline"}
	var clients sync.WaitGroup
	for n := range uint64(50) {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(n, 2))
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for k := range 8 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(30))*time.Millisecond)
				path := fmt.Sprintf("%s/api/v1/r/%s/%s?size=%d..", s.URL, ids[rng.IntN(len(ids))],
					questions[rng.IntN(len(questions))], rng.IntN(100)*10+k)
				r, _ := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
				r.Header.Set(tabHeader, fmt.Sprint(n%5))
				r.Header.Set(laneHeader, []string{"brush", "view", "background"}[rng.IntN(3)])
				if resp, err := client.Do(r); err == nil {
					_, _ = io.CopyN(io.Discard, resp.Body, rng.Int64N(2000))
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	clients.Wait()
	s.Close()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range a.lanes.classes {
		if len(c.workers)+len(c.waiting) != 0 {
			t.Errorf("%d workers, %d wait", len(c.workers), len(c.waiting))
		}
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= goroutines && openFiles(t) <= descriptors })
}

func openFiles(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestFewAreOpen: however many recordings are asked, 8 are open at a time; all have their answers, with the same tags.
func TestFewAreOpen(t *testing.T) {
	t.Parallel()
	dir, of := t.TempDir(), small(t)
	text, err := os.ReadFile(of)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range maxOpen + 4 {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%d.htap", i)))
		if err := os.WriteFile(paths[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := newAPI(t, paths...)
	defer a.Close()
	a.shelf.made = nil // what is being made keeps its recording open
	tags := map[string]string{}
	for round := range 3 {
		for _, set := range a.shelf.sets {
			id := set.entries[0].id
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/r/"+id+"/top", nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			tag := w.Header().Get("ETag")
			if n := len(a.shelf.open); n > maxOpen || round > 0 && tags[id] != tag || tag == "" {
				t.Errorf("%d are open; tag %s, and before %s", n, tag, tags[id])
			}
			tags[id] = tag
		}
	}
	if len(tags) != maxOpen+4 {
		t.Errorf("%d recordings", len(tags))
	}
	// Of large ones, fewer are open.
	for _, o := range a.shelf.open {
		o.bytes = maxOpenBytes / 4
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/r/"+a.shelf.sets[0].entries[0].id+"/hist", nil))
	if n := len(a.shelf.open); n != 4 || w.Code != http.StatusOK {
		t.Errorf("%d large ones are open, %d", n, w.Code)
	}
}

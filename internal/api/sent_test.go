package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/api/apitest"
)

// sendFile sends a file to a session.
func sendFile(ctx context.Context, a http.Handler, name string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/files?name="+url.QueryEscape(name), body)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// takesIn makes a session of one recording whose temporary files are in a folder of its own.
func takesIn(t *testing.T, o api.Options) (a *api.API, temp string) {
	temp = t.TempDir()
	t.Setenv("TMPDIR", temp)
	o.Args = apitest.Recordings(t)[:1]
	return serve(t, o), temp
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "heaptap-sent-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestSentFiles: other tools' files and recordings become part of the session, until it ends.
func TestSentFiles(t *testing.T) {
	a, temp := takesIn(t, api.Options{})
	names := []string{"go.pb.gz", "shop.dhat.json", "shop.massif.out", "shop.jemalloc.heap"}
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join("../import/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		w := sendFile(t.Context(), a, name, bytes.NewReader(b))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		var got api.Received
		decode(t, w.Body.Bytes(), &got)
		if len(got.Recordings) != 1 || got.Matters != got.Recordings[0] {
			t.Errorf("%s: %+v", name, got)
		}
		if w := get(a, "r/"+got.Matters+"/top?metric=bytes,leaked"); w.Code != http.StatusOK {
			t.Errorf("%s: top: %d %s", name, w.Code, w.Body)
		}
		if list := ids(t, a); len(list) != 2+i || list[1+i] != got.Matters {
			t.Errorf("%s: session %v", name, list)
		}
	}
	recording, err := os.ReadFile(apitest.Recordings(t)[1])
	if err != nil {
		t.Fatal(err)
	}
	if w := sendFile(t.Context(), a, "x.htap", bytes.NewReader(recording)); w.Code != http.StatusOK {
		t.Errorf("recording: %d %s", w.Code, w.Body)
	}
	if n := len(entries(t, temp)); n != len(names)+1 {
		t.Errorf("%d folders of what was sent", n)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, temp); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// endless is a body that does not end, with text that might be folded stacks.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	n := 0
	for n+8 <= len(p) {
		n += copy(p[n:], "main;f 1")
	}
	return max(n, copy(p, "m")), nil
}

// broken fails after some bytes.
type broken struct{ left int }

func (b *broken) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// TestSentFilesAreBounded: what is too large, broken, of no known format or not allowed leaves nothing behind, and the
// next file is taken in.
func TestSentFilesAreBounded(t *testing.T) {
	a, temp := takesIn(t, api.Options{})
	bomb := make([]byte, 0, 1<<20)
	for _, c := range []struct {
		name string
		body io.Reader
		want string
	}{
		{"large", io.LimitReader(endless{}, 256<<20+1), "413 too-large"},
		{"broken", &broken{1 << 20}, "499 cancelled"},
		{"empty", strings.NewReader(""), "400 unreadable"},
		{"text", strings.NewReader("<html>\n"), "400 unreadable"},
		{"../../../etc/cron.d/x", strings.NewReader("\x00\x01"), "400 unreadable"},
		{strings.Repeat("é", 5000), strings.NewReader("\x1f\x8b broken"), "400 unreadable"},
		{"a\x00b\n\u202e", bytes.NewReader(append(bomb, 0x1f, 0x8b, 8)), "400 unreadable"},
		{"spool", strings.NewReader("heaptap spool"), "400 unreadable"},
		{"cut.htap", bytes.NewReader(firstBytes(t, apitest.Recordings(t)[0], 40)), "400 unreadable"},
	} {
		w := sendFile(t.Context(), a, c.name, c.body)
		var e api.Error
		if err := json.Unmarshal(lastLine(w.Body.Bytes()), &e); err != nil {
			t.Fatalf("%.20q: %v", c.name, err)
		}
		if got := fmt.Sprintf("%d %s", w.Code, e.Code); got != c.want {
			t.Errorf("%.20q: %s (%s), want %s", c.name, got, e.What, c.want)
		}
		if strings.Contains(w.Body.String(), temp) {
			t.Errorf("%.20q: the answer has the temporary folder: %s", c.name, w.Body)
		}
		if left := entries(t, temp); left != nil {
			t.Errorf("%.20q leaves %v behind", c.name, left)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/api/v1/files?name=x", strings.NewReader("x"))
	r.ContentLength = 1 << 40
	w := httptest.NewRecorder()
	if a.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("announced: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"files", "files?x=1"} {
		if w := get(a, path); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	if w := sendFile(cancelled, a, "x", strings.NewReader("main;f 1\n")); w.Code == http.StatusOK {
		t.Error("a cancelled request was answered")
	}
	if w := sendFile(t.Context(), a, "x", strings.NewReader("main;f 1\n")); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// TestNoFilesReadOnly: with --read-only, nothing is taken in.
func TestNoFilesReadOnly(t *testing.T) {
	a, temp := takesIn(t, api.Options{ReadOnly: true})
	w := sendFile(t.Context(), a, "x", strings.NewReader("main;f 1\n"))
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "--read-only") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if left := entries(t, temp); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// TestOneFileAtATime: a second file waits until the first one is there, and a session takes in so many.
func TestOneFileAtATime(t *testing.T) {
	a, _ := takesIn(t, api.Options{})
	r, write := io.Pipe()
	first := make(chan int)
	go func() { first <- sendFile(t.Context(), a, "slow", r).Code }()
	if _, err := write.Write([]byte("main;f 1\n")); err != nil { // it is being read
		t.Fatal(err)
	}
	if w := sendFile(t.Context(), a, "x", strings.NewReader("main;g 1\n")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("meanwhile: %d %s", w.Code, w.Body)
	}
	write.Close()
	if code := <-first; code != http.StatusOK {
		t.Errorf("the first one: %d", code)
	}
	for n := 2; ; n++ {
		w := sendFile(t.Context(), a, "x", strings.NewReader("main;g 1\n"))
		if w.Code == http.StatusOK && n <= 32 {
			continue
		}
		if w.Code != http.StatusRequestEntityTooLarge || n != 33 {
			t.Errorf("file %d: %d %s", n, w.Code, w.Body)
		}
		break
	}
}

func firstBytes(t *testing.T, path string, n int) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b[:min(n, len(b))]
}

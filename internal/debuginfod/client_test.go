package debuginfod

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server that has one file, and returns how often it was asked.
func serve(t *testing.T, id string, content []byte) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func client(t *testing.T, urls ...string) *Client {
	t.Helper()
	t.Setenv("DEBUGINFOD_URLS", strings.Join(urls, " "))
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	c := FromEnvironment()
	if c == nil {
		t.Fatal("no client")
	}
	return c
}

func TestDebugFile(t *testing.T) {
	content := bytes.Repeat([]byte("debug "), 100_000)
	empty, emptyAsked := serve(t, "none", nil)
	url, asked := serve(t, "abcdef01", content)
	c := client(t, empty+"/", "ftp://ignored", url)
	var begun []string
	c.Begin = func(url string, n int64) { begun = append(begun, fmt.Sprint(url, " ", n)) }
	for range 2 { // the second time it is there
		path, err := c.DebugFile(t.Context(), []byte{0xab, 0xcd, 0xef, 1})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	if asked.Load() != 1 || emptyAsked.Load() != 1 || len(begun) != 1 ||
		begun[0] != fmt.Sprintf("%s/buildid/abcdef01/debuginfo 600000", url) {
		t.Errorf("asked %d and %d times; %q", emptyAsked.Load(), asked.Load(), begun)
	}
	for range 2 { // what nobody has is remembered
		if path, err := c.DebugFile(t.Context(), []byte{1, 2, 3}); path != "" || err != nil {
			t.Errorf("%q, %v", path, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	miss := filepath.Join(os.Getenv("DEBUGINFOD_CACHE_PATH"), "010203", "debuginfo")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(miss, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DebugFile(t.Context(), []byte{1, 2, 3}); err != nil || asked.Load() != 3 {
		t.Errorf("%v; asked %d times", err, asked.Load())
	}
	if _, err := c.DebugFile(t.Context(), []byte{1, 2, 3}); err != nil || asked.Load() != 3 {
		t.Errorf("remembered again: %v; asked %d times", err, asked.Load())
	}
}

func TestTrouble(t *testing.T) {
	release := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/buildid/0101/debuginfo":
			http.Error(w, "no", http.StatusInternalServerError)
		case "/buildid/0202/debuginfo": // stalls
			w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			<-release
		case "/buildid/0303/debuginfo": // breaks off
			w.Header().Set("Content-Length", "1000000")
			w.Write(make([]byte, 200_000))
		case "/buildid/0404/debuginfo": // larger than is said
			w.Write(make([]byte, 50_000))
			w.(http.Flusher).Flush()
			w.Write(make([]byte, 350_000))
		case "/buildid/0505/debuginfo":
			w.Header().Set("X-DEBUGINFOD-SIZE", "400000")
			w.(http.Flusher).Flush()
		case "/buildid/0606/debuginfo": // nothing
		}
	})
	s := httptest.NewServer(handler)
	t.Setenv("DEBUGINFOD_TIMEOUT", "1")
	t.Setenv("DEBUGINFOD_MAXSIZE", "300000")
	c := client(t, strings.Replace(s.URL, "//", "//me:secret@", 1))
	c.Begin = func(url string, _ int64) {
		if strings.Contains(url, "secret") {
			t.Error("the password is told:", url)
		}
	}
	for id, want := range map[byte]string{1: "500", 2: "less than 100 KiB", 3: "unexpected EOF", 4: "MAXSIZE",
		5: "400000 bytes", 6: "empty"} {
		path, err := c.DebugFile(t.Context(), []byte{id, id})
		if id == 3 { // the limit comes first
			want = "MAXSIZE"
		}
		if path != "" || err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "//me:xxxxx@") {
			t.Errorf("%d: %q, %v", id, path, err)
		}
		if id == 2 { // a server that is too slow is not asked again, else each module would cost as much time
			if path, err := c.DebugFile(t.Context(), []byte{id, id}); path != "" || err != nil {
				t.Errorf("too slow, once more: %q, %v", path, err)
			}
			clear(c.down)
		}
	}
	c.maxSize = 0
	if path, err := c.DebugFile(t.Context(), []byte{3, 3}); path != "" || err == nil ||
		!strings.Contains(err.Error(), "EOF") {
		t.Errorf("broken off: %q, %v", path, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.DebugFile(ctx, []byte{2, 2}); err != context.DeadlineExceeded {
		t.Errorf("given up: %v", err)
	}
	left, err := filepath.Glob(os.Getenv("DEBUGINFOD_CACHE_PATH") + "/*/*")
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	close(release)
	s.Close()
	if _, err := c.DebugFile(t.Context(), []byte{1, 1}); err == nil ||
		!strings.Contains(err.Error(), "does not answer") {
		t.Errorf("of a server that is gone: %v", err)
	}
	if path, err := c.DebugFile(t.Context(), []byte{1, 1}); path != "" || err != nil {
		t.Errorf("of a server that is gone, once more: %q, %v", path, err)
	}
	if left, _ := filepath.Glob(os.Getenv("DEBUGINFOD_CACHE_PATH") + "/*/*"); len(left) > 0 {
		t.Errorf("that it did not answer is remembered as that it has none: %q", left)
	}
}

func TestNoServers(t *testing.T) {
	for _, urls := range []string{"", "  ", "ima:enforcing"} {
		t.Setenv("DEBUGINFOD_URLS", urls)
		if FromEnvironment() != nil {
			t.Errorf("%q gives a client", urls)
		}
	}
}

package serve

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// diary is a response that notes what happens to it, in order.
type diary struct {
	*httptest.ResponseRecorder
	text string
}

func (d *diary) Write(p []byte) (int, error) {
	d.text += "write "
	return d.ResponseRecorder.Write(p)
}

func (d *diary) SetWriteDeadline(t time.Time) error {
	if time.Until(t) > writePatience/2 {
		d.text += "time "
	}
	return nil
}

func (d *diary) SetReadDeadline(t time.Time) error {
	d.text += fmt.Sprintf("read:%t ", !t.IsZero())
	return nil
}

func (d *diary) Flush() { d.text += "flush " }

// TestDeadlines: a client has time for each write, and after the handler for what is left to send; the connection may
// have a deadline of an earlier request. That for the body ends with the body.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	s, err := Listen(Options{Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	token, _ := s.door.redeem(s.door.newCode())
	handler, err := s.handler(page, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, "one")
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "two")
		_ = http.NewResponseController(w).Flush()
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		method, path, host, body, want string
	}{
		{"GET", "/", "localhost", "", "time time write time "},
		{"GET", "/none", "localhost", "", "time time write time "},
		{"GET", "/", "evil.example", "", "time time write time "},
		{"HEAD", "/", "localhost", "", "time time "},
		{"GET", "/api/", "localhost", "", "time time write time flush time write time flush time "},
		{"POST", "/api/", "localhost", "", "time time write time flush time write time flush time "},
		{"POST", "/api/", "localhost", "x",
			"time read:true read:false time write time flush time write time flush time "},
		// Not JSON; what is left is not waited for.
		{"POST", "/auth", "localhost", "x", "time read:true time write time "},
	} {
		r := httptest.NewRequest(x.method, x.path, strings.NewReader(x.body))
		r.Host = x.host
		r.Header.Set("Authorization", "Bearer "+token)
		d := &diary{ResponseRecorder: httptest.NewRecorder()}
		handler.ServeHTTP(d, r)
		if d.text != x.want {
			t.Errorf("%s %s: %q, want %q", x.method, x.path, d.text, x.want)
		}
	}
}

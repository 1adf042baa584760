package serve

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// FuzzRequest gives the server any requests. None reaches the API without a token and the right headers, and every
// response is closed to other origins.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /api/v1/r/1/tree?from=1&to=%20&by=%zz HTTP/1.1\r\nHost: [::1]:80\r\nAuthorization: Bearer x\r\n\r\n",
		"POST /auth HTTP/1.1\r\nHost: localhost:1\r\nOrigin: http://localhost:1\r\nContent-Type: application/json\r\n" +
			"Content-Length: 12\r\n\r\n{\"code\":\"x\"}",
		"GET /api/../%2e%2e//x;y HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: same-origin\r\n\r\n",
		"HEAD /app.js HTTP/1.0\r\nHost: 127.0.0.1\r\nIf-None-Match: *\r\nRange: bytes=1-\r\n" +
			"Accept-Encoding: gzip\r\n\r\n",
		"CONNECT localhost:1 HTTP/1.1\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: evil\r\n\r\n",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	s, err := Listen(Options{Warn: func(string) {}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	token, refused := s.door.redeem(s.door.newCode())
	if refused != nil {
		f.Fatal(refused)
	}
	f.Fuzz(func(t *testing.T, text string, authorized bool) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return // net/http answers for itself
		}
		if authorized {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		asked := false
		handler, err := s.handler(page, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = true
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		for name, value := range headers {
			if w.Header().Get(name) != value {
				t.Errorf("%s: %q", name, w.Header().Get(name))
			}
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" || name == "Location" {
				t.Errorf("the response has %s", name)
			}
		}
		host := strings.ToLower(r.Host)
		local := false
		for _, name := range []string{"localhost", "127.0.0.1", "[::1]"} {
			local = local || host == name || strings.HasPrefix(host, name+":")
		}
		origin, foreign := r.Header.Get("Origin"), r.Header["Origin"] != nil
		if asked && (!authorized || !local || foreign && origin != "http://"+r.Host) {
			t.Errorf("host %q, origin %q, token %t: the API was asked", r.Host, origin, authorized)
		}
		if !local && w.Code != http.StatusForbidden {
			t.Errorf("host %q: status %d", r.Host, w.Code)
		}
	})
}

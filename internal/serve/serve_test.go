package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

var page = fstest.MapFS{
	"index.html":     {Data: []byte("<!doctype html><title>heaptap</title>")},
	"app.js":         {Data: []byte(strings.Repeat("export const a = 1;\n", 100))},
	"sub/style.css":  {Data: []byte("a {}")},
	"sub/image.png":  {Data: make([]byte, 2000)},
	"sub/other.json": {Data: []byte("{}")},
}

// stub stands for the API. It answers with the method, and at /api/v1/stream with a stream that ends with the context.
type stub struct{}

func (stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/stream" {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprintf(w, "answer to %s\n", r.Method)
		return
	}
	out := json.NewEncoder(w)
	_ = out.Encode(map[string]int{"progress": 1})
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	_ = out.Encode(map[string]string{"error": context.Cause(r.Context()).Error()})
}

// running is a server under test.
type running struct {
	*Server
	t    testing.TB
	stop context.CancelFunc
	done chan error

	mu       sync.Mutex
	warnings []string
}

func start(t testing.TB, o Options) *running {
	t.Helper()
	s := &running{t: t, done: make(chan error, 1)}
	o.Warn = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.warnings = append(s.warnings, text)
	}
	var err error
	if s.Server, err = Listen(o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.done <- s.Serve(ctx, page, stub{}) }()
	t.Cleanup(s.end)
	return s
}

// end stops the server, once.
func (s *running) end() {
	s.stop()
	if err, open := <-s.done; open {
		close(s.done)
		if err != nil {
			s.t.Error(err)
		}
	}
}

func (s *running) warned() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.warnings...)
}

// ask sends a request with headers ("Name: value"; Host is one), and returns the response with its whole body.
func (s *running) ask(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, "http://"+s.listener.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	response, err := transport.RoundTrip(r) // follows no redirects
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(b)
}

const isJSON = "Content-Type: application/json"

// code is a new code.
func (s *running) code() string {
	_, code, _ := strings.Cut(s.Invitation(), "#code=")
	return code
}

// present is what /auth says to a code.
func (s *running) present(code string) (status int, token, text string) {
	s.t.Helper()
	response, body := s.ask("POST", "/auth", fmt.Sprintf(`{"code": %q}`, code), isJSON)
	var answer struct{ Token, Error, What, Do string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		s.t.Fatalf("%q: %v", body, err)
	}
	return response.StatusCode, answer.Token, answer.What + "; " + answer.Do
}

func (s *running) token() string {
	s.t.Helper()
	status, token, text := s.present(s.code())
	if status != 200 {
		s.t.Fatalf("status %d: %s", status, text)
	}
	return token
}

// TestListen: only the loopback interface needs no name; what else is asked for says what it means.
func TestListen(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, x := range []struct {
		o     Options
		begin string // of the address, or of the error
		usage bool
	}{
		{Options{}, "http://127.0.0.1:", false},
		{Options{Address: "localhost"}, "http://127.0.0.1:", false},
		{Options{Address: "127.0.0.1", Hosts: []string{"box"}}, "http://127.0.0.1:", false},
		{Options{Address: "::1"}, "http://[::1]:", false},
		{Options{Address: "0.0.0.0", Hosts: []string{"Box.example", "192.0.2.1"}}, "http://box.example:", false},
		{Options{Address: "0.0.0.0", Hosts: []string{"2001:db8::1"}}, "http://[2001:db8::1]:", false},
		{Options{Address: "127.0.0.2", Hosts: []string{"box", "127.0.0.2"}}, "http://127.0.0.2:", false},
		{Options{Address: "127.0.0.2"}, "--listen 127.0.0.2: also needs --allow-host NAME", true},
		{Options{Address: "0.0.0.0"}, "--listen 0.0.0.0: also needs --allow-host NAME", true},
		{Options{Address: "::"}, "--listen ::: also needs --allow-host NAME", true},
		{Options{Address: "box"}, `--listen "box": not an IP address`, true},
		{Options{Address: "127.0.0.1:80"}, `--listen "127.0.0.1:80": not an IP address`, true},
		{Options{Hosts: []string{"box:80"}}, `--allow-host "box:80": not the name`, true},
		{Options{Hosts: []string{""}}, `--allow-host "": not the name`, true},
		{Options{Hosts: []string{"*"}}, `--allow-host "*": not the name`, true},
		{Options{Hosts: []string{"http://box"}}, `--allow-host "http://box": not the name`, true},
		{Options{Port: busy.Addr().(*net.TCPAddr).Port}, fmt.Sprintf("port %d of 127.0.0.1 is in use",
			busy.Addr().(*net.TCPAddr).Port), false},
		{Options{Address: "192.0.2.1", Hosts: []string{"box"}}, "cannot listen on port 0 of 192.0.2.1", false},
	} {
		s, err := Listen(x.o)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = s.Address()
			if invitation := s.Invitation(); !strings.HasPrefix(invitation, got+"#code=") || s.Redeemed() {
				t.Errorf("%+v: %s", x.o, invitation)
			}
			s.Close()
		}
		var usage *UsageError
		if !strings.HasPrefix(got, x.begin) || errors.As(err, &usage) != x.usage {
			if x.o.Address == "::1" || x.o.Address == "::" {
				t.Logf("%+v: %s: no IPv6 here?", x.o, got)
				continue
			}
			t.Errorf("%+v: %q, want %q", x.o, got, x.begin)
		}
	}
}

// TestRefusals: who may ask what, and how. Every response has the headers, and none lets another origin read it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Hosts: []string{"Box.example", "2001:db8::1"}})
	host := s.listener.Addr().String()
	bearer := "Authorization: Bearer " + s.token()
	for _, x := range []struct {
		method, path string
		status       int
		headers      []string
	}{
		{"GET", "/", 200, nil},
		{"HEAD", "/", 200, nil},
		{"GET", "/api/v1/x", 200, []string{bearer}},
		{"HEAD", "/api/v1/x", 200, []string{bearer}},
		{"POST", "/api/v1/x", 200, []string{bearer}},
		// Hosts.
		{"GET", "/", 200, []string{"Host: localhost"}},
		{"GET", "/", 200, []string{"Host: LocalHost:1"}},
		{"GET", "/", 200, []string{"Host: 127.0.0.1:99999"}},
		{"GET", "/", 200, []string{"Host: [::1]"}},
		{"GET", "/", 200, []string{"Host: [::1]:8080"}},
		{"GET", "/", 200, []string{"Host: box.example:8080"}},
		{"GET", "/", 200, []string{"Host: [2001:db8::1]:80"}},
		{"GET", "/", 403, []string{"Host: evil.example"}},
		{"GET", "/", 403, []string{"Host: localhost.evil.example"}},
		{"GET", "/", 403, []string{"Host: evil.example:80:localhost"}},
		{"GET", "/", 403, []string{"Host: localhost."}},
		{"GET", "/", 403, []string{"Host: 127.0.0.2"}},
		{"GET", "/", 403, []string{"Host: 127.1"}},
		{"GET", "/", 403, []string{"Host: 0.0.0.0"}},
		{"GET", "/", 403, []string{"Host: [::]"}},
		{"GET", "/", 403, []string{"Host: [::ffff:127.0.0.1]"}},
		{"GET", "/none", 403, []string{"Host: evil.example"}},
		{"POST", "/auth", 403, []string{"Host: evil.example"}},
		{"DELETE", "/", 403, []string{"Host: evil.example"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Host: evil.example"}},
		// Origins.
		{"GET", "/api/v1/x", 200, []string{bearer, "Origin: http://" + host}},
		{"GET", "/api/v1/x", 200, []string{bearer, "Host: localhost:5", "Origin: http://localhost:5"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Host: localhost:5", "Origin: http://localhost:6"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Origin: http://localhost:5"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Origin: https://" + host}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Origin: null"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Origin: "}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Origin: http://" + host, "Origin: http://evil.example"}},
		{"GET", "/", 403, []string{"Origin: http://evil.example"}},
		{"POST", "/auth", 403, []string{"Origin: http://evil.example"}},
		// Sites.
		{"GET", "/", 200, []string{"Sec-Fetch-Site: none"}},
		{"GET", "/api/v1/x", 200, []string{bearer, "Sec-Fetch-Site: same-origin"}},
		{"GET", "/api/v1/x", 403, []string{bearer, "Sec-Fetch-Site: same-site"}},
		{"GET", "/", 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"GET", "/", 403, []string{"Sec-Fetch-Site: "}},
		{"GET", "/", 403, []string{"Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"}},
		// Tokens.
		{"GET", "/api/v1/x", 401, nil},
		{"GET", "/api", 401, nil},
		{"GET", "/api/", 401, nil},
		{"GET", "/%61pi/v1/x", 401, nil},
		{"GET", "/api/v1/x", 401, []string{"Authorization: Bearer "}},
		{"GET", "/api/v1/x", 401, []string{"Authorization: Bearer"}},
		{"GET", "/api/v1/x", 401, []string{bearer + "x"}},
		{"GET", "/api/v1/x", 401, []string{bearer[:len(bearer)-1]}},
		{"GET", "/api/v1/x", 401, []string{strings.Replace(bearer, "Bearer", "Basic", 1)}},
		{"GET", "/api/v1/x", 401, []string{"Cookie: token=" + bearer[len("Authorization: Bearer "):]}},
		{"GET", "/api/v1/x?token=" + bearer[len("Authorization: Bearer "):], 401, nil},
		// Methods.
		{"POST", "/", 405, nil},
		{"PUT", "/app.js", 405, nil},
		{"DELETE", "/none", 405, nil},
		{"OPTIONS", "/", 405, nil},
		{"TRACE", "/", 405, nil},
		{"OPTIONS", "/api/v1/x", 405, []string{bearer, "Access-Control-Request-Method: GET"}},
		{"PUT", "/api/v1/x", 405, []string{bearer}},
		{"GET", "/auth", 405, nil},
		// What else there is.
		{"GET", "/none", 404, nil},
		{"GET", "/auth/", 404, nil},
		{"GET", "/apis", 404, nil},
		{"POST", "/auth", 415, nil},
		{"POST", "/auth", 415, []string{"Content-Type: text/plain"}},
		{"POST", "/auth", 415, []string{"Content-Type: application/x-www-form-urlencoded"}},
		{"POST", "/auth", 400, []string{isJSON}},
	} {
		response, body := s.ask(x.method, x.path, "", x.headers...)
		if response.StatusCode != x.status {
			t.Errorf("%s %s %q: %d %q, want %d", x.method, x.path, x.headers, response.StatusCode, body, x.status)
		}
		for name, value := range headers {
			if got := response.Header.Values(name); len(got) != 1 || got[0] != value {
				t.Errorf("%s %s %q: %s: %q", x.method, x.path, x.headers, name, got)
			}
		}
		for name := range response.Header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" || name == "Location" {
				t.Errorf("%s %s %q: the response has %s", x.method, x.path, x.headers, name)
			}
		}
		if x.method != "HEAD" && x.status != 200 && !strings.HasPrefix(body, `{"error":"`) {
			t.Errorf("%s %s %q: %q is not an error in JSON", x.method, x.path, x.headers, body)
		}
	}
}

// TestRaw sends what no client of Go sends.
func TestRaw(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	token := s.token()
	for text, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n":                                                                   "403",
		"GET / HTTP/1.1\r\n\r\n":                                                                   "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n":                                  "400",
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n":                             "403",
		"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n":                                "405",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                                            "405",
		"GET //evil.example/.. HTTP/1.1\r\nHost: localhost\r\n\r\n":                                "404",
		"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n":                                "404",
		"GET /sub HTTP/1.1\r\nHost: localhost\r\n\r\n":                                             "404",
		"GET /sub/ HTTP/1.1\r\nHost: localhost\r\n\r\n":                                            "404",
		"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                             "404",
		"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello":                      "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n":                  "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n": "431",
		"GET /" + strings.Repeat("x", 2*maxHeader) + " HTTP/1.1\r\nHost: localhost\r\n\r\n":        "431",
		"POST /auth HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000\r\n\r\n" +
			`{"code": "` + strings.Repeat("x", 1988) + `"}`: "400",
		"POST /api/v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
			fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", maxBody+1) + strings.Repeat("x", maxBody+1): "413",
		"POST /api/v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token +
			fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", maxBody+1) + strings.Repeat("x", maxBody+1): "200",
		"POST /api/v1/files HTTP/1.1\r\nHost: localhost\r\n" +
			fmt.Sprintf("Content-Length: %d\r\n\r\n", maxBody+1) + strings.Repeat("x", maxBody+1): "401",
		"GET /api/v1/x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n": "401",
	} {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() { _, _ = io.WriteString(c, text) }() // the server may answer before it has read all
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%.90q: %v", text, err)
			continue
		}
		if got := response.Status[:3]; got != want {
			t.Errorf("%.90q: %s, want %s", text, got, want)
		}
	}
}

// TestSlowHeader: a client that does not finish the header of its request is not waited for.
func TestSlowHeader(t *testing.T) {
	t.Parallel()
	s, err := Listen(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.patience = time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, page, stub{}) }()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
	_, _ = io.ReadAll(c) // the connection ends, or is reset
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestFiles: the files of the app, their types, tags and compression.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	tags := map[string]string{}
	for _, x := range []struct {
		path, kind, encoding string
		headers              []string
	}{
		{"/", "text/html; charset=utf-8", "", nil},
		{"/index.html", "text/html; charset=utf-8", "", []string{"Accept-Encoding: gzip"}}, // too short
		{"/app.js", "text/javascript; charset=utf-8", "", nil},
		{"/app.js", "text/javascript; charset=utf-8", "", []string{"Accept-Encoding: br, gzip;q=0"}},
		{"/app.js", "text/javascript; charset=utf-8", "gzip", []string{"Accept-Encoding: br, GZIP ; q=0.5"}},
		{"/app.js", "text/javascript; charset=utf-8", "gzip", []string{"Accept-Encoding: gzip, deflate"}},
		{"/sub/style.css", "text/css; charset=utf-8", "", nil},
		{"/sub/image.png", "image/png", "", []string{"Accept-Encoding: gzip"}},
		{"/sub/other.json", "application/json", "", nil},
	} {
		response, body := s.ask("GET", x.path, "", x.headers...)
		h := response.Header
		if response.StatusCode != 200 || h.Get("Content-Type") != x.kind || h.Get("Content-Encoding") != x.encoding ||
			h.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %s %v", x.path, response.Status, h)
		}
		if tag := h.Get("ETag"); tag == "" || tags[tag] != "" && tags[tag] != body {
			t.Errorf("%s: the tag %s is missing, or of two contents", x.path, tag)
		} else {
			tags[tag] = body
			again, rest := s.ask("GET", x.path, "", append(x.headers, "If-None-Match: "+tag)...)
			if again.StatusCode != 304 || rest != "" {
				t.Errorf("%s with its tag: %s %q", x.path, again.Status, rest)
			}
		}
	}
	js := string(page["app.js"].Data)
	if _, body := s.ask("GET", "/app.js", ""); body != js {
		t.Errorf("%q", body)
	}
	_, body := s.ask("GET", "/app.js", "", "Accept-Encoding: gzip")
	if text := gunzip(t, body); text != js || len(body) > len(js)/4 {
		t.Errorf("%d bytes are %q", len(body), text)
	}
	if response, body := s.ask("HEAD", "/app.js", ""); body != "" || response.ContentLength != int64(len(js)) {
		t.Errorf("HEAD: %q, %d bytes", body, response.ContentLength)
	}
	for name, files := range map[string]fs.FS{
		"no page":           fstest.MapFS{"app.js": page["app.js"]},
		"an unknown type":   fstest.MapFS{"index.html": page["index.html"], "x.exe": {}},
		"a type by no name": fstest.MapFS{"index.html": page["index.html"], "LICENSE": {}},
	} {
		if _, err := newApp(files); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestStop: what is under way at the end says so.
func TestStop(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	stream := s.stream(s.token())
	s.end()
	if line, err := stream.ReadString('\n'); err != nil || line != `{"error":"heaptap was stopped"}`+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	if c, err := net.Dial("tcp", s.listener.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

// stream asks for a stream and reads its first line.
func (s *running) stream(token string) *bufio.Reader {
	s.t.Helper()
	r, err := http.NewRequest("GET", "http://"+s.listener.Addr().String()+"/api/v1/stream", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := new(http.Transport).RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { response.Body.Close() })
	body := bufio.NewReader(response.Body)
	if line, err := body.ReadString('\n'); err != nil || line != `{"progress":1}`+"\n" {
		s.t.Fatalf("%q, %v", line, err)
	}
	return body
}

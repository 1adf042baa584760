package serve

import (
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"
)

// headers are on every response.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; " +
		"connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types heaptap",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// handler is the whole server: first what no request gets around, then the routes.
func (s *Server) handler(files fs.FS, api http.Handler) (http.Handler, error) {
	app, err := newApp(files)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if e := s.foreign(r); e != nil {
			e.ServeHTTP(w, r)
			return
		}
		var next http.Handler = app
		methods := []string{http.MethodGet, http.MethodHead}
		switch {
		case r.URL.Path == "/auth":
			next, methods = http.HandlerFunc(s.redeem), []string{http.MethodPost}
		case r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/"):
			next, methods = s.authorized(api), append(methods, http.MethodPost)
		}
		serveBounded(w, r, next, methods)
	}), nil
}

// foreign says why a request may come from a page of another server; nil: it cannot.
func (s *Server) foreign(r *http.Request) *refusal {
	origin, site := r.Header.Values("Origin"), r.Header.Values("Sec-Fetch-Site")
	switch {
	case !s.hosts[withoutPort(r.Host)]:
		return refuseHost
	case len(origin) > 1 || len(origin) == 1 && origin[0] != "http://"+r.Host:
		return refuseOrigin
	case len(site) > 1 || len(site) == 1 && site[0] != "same-origin" && site[0] != "none":
		return refuseSite
	}
	return nil
}

// withoutPort returns the host of a Host header, in lower case.
func withoutPort(header string) string {
	host := header
	if i := strings.LastIndexByte(header, ':'); i >= 0 && strings.Trim(header[i+1:], "0123456789") == "" {
		host = header[:i]
	}
	return strings.ToLower(host)
}

// serveBounded calls a handler for these methods, with bounds for the request's body and for how long the client may
// take.
func serveBounded(w http.ResponseWriter, r *http.Request, next http.Handler, methods []string) {
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		(&refusal{http.StatusMethodNotAllowed, "bad-method", "this path does not take " + r.Method, "method",
			"use " + strings.Join(methods, " or ")}).ServeHTTP(w, r)
		return
	}
	post := r.Method == http.MethodPost
	if !post && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		refuseBody.ServeHTTP(w, r)
		return
	}
	control := http.NewResponseController(w)
	if post && r.ContentLength != 0 {
		_ = control.SetReadDeadline(time.Now().Add(bodyPatience))
		r.Body = &timedBody{http.MaxBytesReader(w, r.Body, maxBody), control}
	}
	next.ServeHTTP(&patientWriter{w, control}, r)
}

// timedBody ends the deadline of a request's body with the body. If it lasted longer, it would also hold for the read
// in which the server waits for the client to go away.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// patientWriter gives the client some time for each write.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(writePatience))
	return w.ResponseWriter.Write(p)
}

// Flush sends what was written. It is a method of its own for handlers that ask for http.Flusher.
func (w *patientWriter) Flush() {
	_ = w.control.SetWriteDeadline(time.Now().Add(writePatience))
	_ = w.control.Flush() // the next write reports the error
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

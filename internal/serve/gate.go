package serve

import (
	"encoding/json"
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
		if reason := s.refusal(r); reason != "" {
			refuse(w, http.StatusForbidden, reason)
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

// refusal says why a request is not answered at all; "": it is.
func (s *Server) refusal(r *http.Request) string {
	if !s.hosts[withoutPort(r.Host)] {
		return "this is not a name of this server (header Host); use the address that heaptap printed. Other names " +
			"need --allow-host NAME"
	}
	if values := r.Header.Values("Origin"); len(values) > 1 || len(values) == 1 && values[0] != "http://"+r.Host {
		return "a page of another origin may not ask this server (header Origin)"
	}
	if values := r.Header.Values("Sec-Fetch-Site"); len(values) > 1 ||
		len(values) == 1 && values[0] != "same-origin" && values[0] != "none" {
		return "a page of another site may not ask this server or lead to it (header Sec-Fetch-Site); type or paste " +
			"the address"
	}
	return ""
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
		refuse(w, http.StatusMethodNotAllowed, "the method must be "+strings.Join(methods, " or "))
		return
	}
	post := r.Method == http.MethodPost
	if !post && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusBadRequest, "a "+r.Method+" request has no body")
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

// refuse answers with an error: what is wrong, and what to do.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

package serve

import (
	"io/fs"
	"net/http"
	"slices"
	"strings"
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
		client := newClient(w)
		defer client.renew() // for what is still to be sent
		s.route(client, r, app, api)
	}), nil
}

// route passes a request on, if it may be asked.
func (s *Server) route(w *client, r *http.Request, app, api http.Handler) {
	if e := s.foreign(r); e != nil {
		e.ServeHTTP(w, r)
		return
	}
	next, methods := app, []string{http.MethodGet, http.MethodHead}
	switch {
	case r.URL.Path == "/auth":
		next, methods = http.HandlerFunc(s.redeem), []string{http.MethodPost}
	case r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/"):
		next, methods = s.authorized(api), append(methods, http.MethodPost)
	}
	switch {
	case !slices.Contains(methods, r.Method):
		w.Header().Set("Allow", strings.Join(methods, ", "))
		next = &refusal{http.StatusMethodNotAllowed, "bad-method", "this path does not take " + r.Method, "method",
			"use " + strings.Join(methods, " or ")}
	case r.Method == http.MethodPost:
		w.boundBody(r)
	case r.ContentLength != 0:
		w.Header().Set("Connection", "close")
		next = refuseBody
	}
	next.ServeHTTP(w, r)
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

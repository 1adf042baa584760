package call

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/heaptap/heaptap/internal/lazy"
)

// Schemes says which schemes an address may have: those of HTTP (http, https), those of gRPC (grpc, which is meant
// without a scheme, and grpcs), or both.
type Schemes struct{ HTTP, GRPC bool }

// form says how an address is written.
func (s Schemes) form() string {
	switch {
	case s.HTTP && s.GRPC:
		return "HOST:PORT or grpcs://HOST:PORT, or over HTTP http://HOST:PORT"
	case s.GRPC:
		return "HOST:PORT or grpcs://HOST:PORT"
	}
	return "http://HOST:PORT"
}

// ParseAddress reads the address of a server. It returns its URL, whose scheme is http or https also for gRPC, and
// whether it is called by gRPC. Errors do not quote what may contain a password.
func ParseAddress(text string, schemes Schemes) (u *url.URL, grpc bool, err error) {
	if schemes.GRPC && !strings.Contains(text, "://") {
		text = "grpc://" + text
	}
	u, err = url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return nil, false, errors.New("not an address; write " + schemes.form())
	}
	scheme := u.Scheme
	if schemes.GRPC && strings.HasPrefix(scheme, "grpc") {
		grpc = true
		scheme = strings.Replace(scheme, "grpc", "http", 1)
	}
	switch {
	case scheme != "http" && scheme != "https", !grpc && !schemes.HTTP:
		return nil, false, fmt.Errorf("%s:// is not supported here; write %s", u.Scheme, schemes.form())
	case grpc && u.Port() == "":
		return nil, false, fmt.Errorf("%s: the port is missing; write %s", u.Host, schemes.form())
	case grpc && strings.Trim(u.Path, "/") != "":
		return nil, false, fmt.Errorf("%s: an address for gRPC has no path", u.Host)
	}
	u.Scheme = scheme
	return u, grpc, nil
}

var headerText = lazy.Regexp(`^[0-9A-Za-z_-]+=[^\x00-\x1f\x7f]*$`)

// ParseHeader reads NAME=VALUE. The error does not quote the value, which may be a secret.
func ParseHeader(text string) (name, value string, err error) {
	name, value, _ = strings.Cut(text, "=")
	if !headerText().MatchString(text) {
		return "", "", fmt.Errorf("%q: write NAME=VALUE, as in X-Scope-OrgID=team", name)
	}
	return name, value, nil
}

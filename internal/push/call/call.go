// Package call makes calls to servers, over HTTP and gRPC, and makes them again where what has failed may pass: a server that restarts,
// is overloaded, or cannot be reached for a moment.
//
// A call that is made again may have been answered the first time: whoever calls sees to it that this does no harm.
package call

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxAnswer is the most bytes of an answer that are read.
const maxAnswer = 16 << 20

// The time that a try may take, and how long to wait before the second one and at most before the others; the time to find out what is
// spoken at a port.
const (
	tryTime   = 2 * time.Minute
	portTime  = 5 * time.Second
	firstWait = 250 * time.Millisecond
	maxWait   = 10 * time.Second
)

// Client makes calls to a server.
type Client struct {
	// Header goes with every call.
	Header http.Header
	// Patience is for how long a call that failed is made again; 0: it is not.
	Patience time.Duration
	// Tell is called before a call is made again, with what has failed; nil: nobody wants to know.
	Tell func(text string)

	http http.Client
	grpc bool // it is one for Unary
}

// New returns a client for HTTP.
func New() *Client { return newClient(func(*http.Protocols) {}) }

// NewGRPC returns a client for Unary.
func NewGRPC() *Client {
	c := newClient(func(p *http.Protocols) {
		p.SetHTTP1(false)
		p.SetHTTP2(true)
		p.SetUnencryptedHTTP2(true)
	})
	c.grpc = true
	return c
}

func newClient(choose func(*http.Protocols)) *Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(true)
	choose(t.Protocols)
	// A redirect would have a POST become a GET: it is an answer like others.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Header: http.Header{}, http: http.Client{Transport: t, CheckRedirect: stay}}
}

// Error is what a server refused a call with.
type Error struct {
	Server string        // what was called, without a password
	Status int           // of HTTP; 0: see Code
	Code   int           // of gRPC
	Text   string        // what the server says
	After  time.Duration // when to try again, if the server says so
}

func (e *Error) Error() string {
	status := strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	if e.Status == 0 {
		status = codeName(e.Code)
	}
	if e.Text == "" {
		return e.Server + ": " + status
	}
	return fmt.Sprintf("%s: %s: %s", e.Server, status, e.Text)
}

// Passes reports whether the same call may succeed later.
func (e *Error) Passes() bool {
	switch e.Status {
	case 0:
		return codePasses(e.Code)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// passes reports whether what failed may succeed later. An error says so by a method Passes, or has to do with the network.
func passes(err error) bool {
	var refused interface{ Passes() bool }
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var name *net.DNSError
	switch {
	case errors.As(err, &refused):
		return refused.Passes()
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, &certificate), errors.As(err, &record):
		return false
	case strings.Contains(err.Error(), "http2: "), strings.Contains(err.Error(), "server gave HTTP response"): // another protocol is spoken there
		return false
	}
	return true
}

// Do makes a call, and again for as long as the client has patience. It returns the last try's error.
func (c *Client) Do(ctx context.Context, try func(ctx context.Context) error) error {
	begin, wait := time.Now(), firstWait
	for {
		within, cancel := context.WithTimeout(ctx, tryTime)
		err := try(within)
		cancel()
		switch {
		case err == nil: // also if nobody wants it any more: it was done
			return nil
		case ctx.Err() != nil || !passes(err):
			return errors.Join(ctx.Err(), err)
		}
		pause := wait/2 + rand.N(wait) // so that many clients do not come back at once
		if e := (*Error)(nil); errors.As(err, &e) {
			pause = max(pause, e.After)
		}
		if time.Since(begin)+pause > c.Patience {
			return err
		}
		if c.Tell != nil {
			c.Tell(fmt.Sprintf("%v; trying again in %v", err, pause.Round(10*time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		wait = min(2*wait, maxWait)
	}
}

// Post makes one try of a POST over HTTP and returns the answer. What the server refuses is an *Error.
func (c *Client) Post(ctx context.Context, to *url.URL, header http.Header, body []byte) ([]byte, error) {
	answer, _, err := c.post(ctx, to, header, body)
	return answer, err
}

// post is Post, with the answer's header and trailer.
func (c *Client) post(ctx context.Context, to *url.URL, header http.Header, body []byte) ([]byte, *http.Response, error) {
	where := *to
	where.User = nil
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, where.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for _, h := range []http.Header{header, c.Header} {
		for name, values := range h {
			request.Header[name] = values
		}
	}
	if to.User != nil && request.Header.Get("Authorization") == "" {
		password, _ := to.User.Password()
		request.SetBasicAuth(to.User.Username(), password)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if c.grpcBehind(ctx, to) {
			return nil, nil, &WrongPort{Server(to)}
		}
		return nil, nil, fmt.Errorf("%s: %w", Server(to), plain(err))
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", Server(to), plain(err))
	}
	if response.StatusCode/100 != 2 {
		return nil, nil, &Error{Server: Server(to), Status: response.StatusCode, Text: said(response.Header.Get("Content-Type"), answer), After: after(response.Header)}
	}
	return answer, response, nil
}

// Server is a server's address for messages: no path, no password.
func Server(u *url.URL) string { return u.Scheme + "://" + u.Host }

// plain takes off an error what people need not know: the method, the URL (which they gave), the system call.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return op.Err
	}
	if strings.Contains(err.Error(), "http2: frame too large") {
		return fmt.Errorf("not a gRPC server: %w", err)
	}
	return err
}

// brief is the beginning of what a server says, in one line, for a terminal.
func brief(answer []byte) string {
	const most = 500
	visible := func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}
	text := strings.Join(strings.Fields(strings.Map(visible, string(answer))), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// after is when a server wants to be tried again; 0: it does not say.
func after(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

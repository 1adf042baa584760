// Package call sends requests to servers, over HTTP and gRPC, and retries temporary failures: a server that restarts,
// is overloaded, or cannot be reached for a moment.
//
// A retried call may have succeeded the first time. Callers must make sure that this does no harm.
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

// maxAnswer is the most bytes read of a response.
const maxAnswer = 16 << 20

// Time limits.
const (
	tryTime   = 2 * time.Minute        // of one try
	portTime  = 5 * time.Second        // to find out whether a port speaks gRPC
	firstWait = 250 * time.Millisecond // mean wait before the second try; it doubles with each further try
	maxWait   = 10 * time.Second       // up to this
)

// Client sends requests to a server.
type Client struct {
	// Header is added to every call.
	Header http.Header
	// Patience is for how long a failed call is retried; 0: never.
	Patience time.Duration
	// OnRetry, if not nil, is called before each retry, with a message about the failure.
	OnRetry func(text string)

	http http.Client
	grpc bool // the client is one for Unary
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
	// Redirects are not followed: that would turn a POST into a GET.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Header: http.Header{}, http: http.Client{Transport: t, CheckRedirect: stay}}
}

// Error says how a server refused a call.
type Error struct {
	Server string        // address of the server, without a password
	Status int           // of HTTP; 0: see Code
	Code   int           // of gRPC
	Text   string        // the server's message
	After  time.Duration // how long to wait before a retry, if the server says so
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

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool {
	switch e.Status {
	case 0:
		return codeRetryable(e.Code)
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryable reports whether a failed call may succeed later. An error may have a method Retryable that says so; most
// network errors are temporary.
func retryable(err error) bool {
	var refused interface{ Retryable() bool }
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var name *net.DNSError
	switch {
	case errors.As(err, &refused):
		return refused.Retryable()
	case errors.As(err, &name):
		return !name.IsNotFound
	case errors.As(err, &certificate), errors.As(err, &record):
		return false
	case strings.Contains(err.Error(), "http2: "), strings.Contains(err.Error(), "server gave HTTP response"):
		return false // the server speaks another protocol
	}
	return true
}

// Do makes a call, and retries it for as long as c.Patience allows. It returns the error of the last try.
func (c *Client) Do(ctx context.Context, try func(ctx context.Context) error) error {
	begin, wait := time.Now(), firstWait
	for {
		within, cancel := context.WithTimeout(ctx, tryTime)
		err := try(within)
		cancel()
		switch {
		case err == nil: // even if ctx is cancelled by now: the call succeeded
			return nil
		case ctx.Err() != nil || !retryable(err):
			return errors.Join(ctx.Err(), err)
		}
		pause := wait/2 + rand.N(wait) // random, so that many clients do not come back at once
		if e := (*Error)(nil); errors.As(err, &e) {
			pause = max(pause, e.After)
		}
		if time.Since(begin)+pause > c.Patience {
			return err
		}
		if c.OnRetry != nil {
			c.OnRetry(fmt.Sprintf("%v; trying again in %v", err, pause.Round(10*time.Millisecond)))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		wait = min(2*wait, maxWait)
	}
}

// Post makes one try of a POST over HTTP and returns the response's body. If the server refuses the call, the error is
// an *Error.
func (c *Client) Post(ctx context.Context, to *url.URL, header http.Header, body []byte) ([]byte, error) {
	answer, _, err := c.post(ctx, to, header, body)
	return answer, err
}

// post is Post, and also returns the response for its header and trailer.
func (c *Client) post(ctx context.Context, to *url.URL, header http.Header, body []byte) (
	[]byte, *http.Response, error) {
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
		if c.speaksGRPC(ctx, to) {
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
		return nil, nil, &Error{Server: Server(to), Status: response.StatusCode,
			Text: said(response.Header.Get("Content-Type"), answer), After: retryAfter(response.Header)}
	}
	return answer, response, nil
}

// Server returns a server's address for messages: without path and password.
func Server(u *url.URL) string { return u.Scheme + "://" + u.Host }

// plain removes from an error what users need not know: the method, the URL (which they gave), the system call.
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

// brief returns the beginning of a server's message, as one line that is safe for a terminal.
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

// retryAfter returns how long a server asks clients to wait before a retry; 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

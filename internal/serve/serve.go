package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of requests. Files that are sent have a path of their own; of the others, a recording's notes are the largest
// body; text may double in JSON.
const (
	maxHeader      = 16 << 10
	maxBody        = 4 << 20
	maxFile        = 256 << 20 // package api has the same
	filesPath      = "/api/v1/files"
	headerPatience = 10 * time.Second
	bodyPatience   = 30 * time.Second // for a body or, of a file, for each part of it
	writePatience  = time.Minute      // for each write: a stream may go on as long as it is read
	idlePatience   = 2 * time.Minute  // between requests
	stopPatience   = 2 * time.Second  // for requests that are under way at the end
)

// ErrStopped is the cause (context.Cause) with which the contexts of requests end when the server stops. A stream ends
// with an error line that says so.
var ErrStopped = errors.New("heaptap was stopped")

// ErrRevoked is the cause with which the contexts of a token's requests end when the token is revoked.
var ErrRevoked = errors.New("the session was ended, because its code was used a second time")

// Options say where a server listens, and for whom.
type Options struct {
	Address string   // an IP address; "": 127.0.0.1
	Port    int      // 0: a free one
	Hosts   []string // names and addresses in the Host header that are right, besides those of the loopback interface
	Warn    func(text string)
}

// UsageError is the error of options that do not fit together.
type UsageError struct{ text string }

func (e *UsageError) Error() string { return e.text }

// Server answers over HTTP. It listens from the beginning, and answers when Serve is called.
type Server struct {
	listener net.Listener
	port     string
	hosts    map[string]bool // lower case, IPv6 addresses in brackets
	name     string          // the host in addresses that are shown
	door     *door
	warn     func(text string)
	patience time.Duration // for the header of a request

	mu   sync.Mutex
	said map[string]bool // by warnOnce
}

// Listen opens the server's socket.
func Listen(o Options) (*Server, error) {
	s := &Server{hosts: map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true}, name: "127.0.0.1",
		door: newDoor(), warn: o.Warn, patience: headerPatience, said: map[string]bool{}}
	if o.Address == "" || o.Address == "localhost" {
		o.Address = "127.0.0.1"
	}
	address, err := netip.ParseAddr(o.Address)
	if err != nil {
		return nil, &UsageError{fmt.Sprintf("--listen %q: not an IP address; for example 127.0.0.1, or 0.0.0.0 for "+
			"all interfaces", o.Address)}
	}
	for i, text := range o.Hosts {
		host, ok := hostName(text)
		if !ok {
			return nil, &UsageError{fmt.Sprintf("--allow-host %q: not the name or address of a host, without a port",
				text)}
		}
		s.hosts[host] = true
		if i == 0 {
			s.name = host
		}
	}
	switch name, _ := hostName(o.Address); {
	case s.hosts[name]:
		s.name = name
	case len(o.Hosts) == 0:
		return nil, &UsageError{fmt.Sprintf("--listen %s: also needs --allow-host NAME, the name or address by which "+
			"browsers reach this machine. Then anyone who reaches the port and has the code can read the recordings, "+
			"and the traffic is not encrypted; ssh -L is safer", o.Address)}
	}
	network := "tcp4"
	if address.Is6() {
		network = "tcp"
	}
	s.listener, err = net.Listen(network, net.JoinHostPort(o.Address, strconv.Itoa(o.Port)))
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, fmt.Errorf("port %d of %s is in use; without --port, a free one is taken", o.Port, o.Address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on port %d of %s: %w", o.Port, o.Address, errors.Unwrap(err))
	}
	_, s.port, _ = net.SplitHostPort(s.listener.Addr().String())
	return s, nil
}

// hostName returns the name or address of a host as it stands in a Host header, without a port; false if it is none.
func hostName(text string) (string, bool) {
	if ip, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil && ip.Zone() == "" {
		if ip.Is6() {
			return "[" + ip.String() + "]", true
		}
		return ip.String(), true
	}
	ok := text != "" && strings.Trim(text, ".-") == text && strings.Trim(strings.ToLower(text),
		"abcdefghijklmnopqrstuvwxyz0123456789.-_") == ""
	return strings.ToLower(text), ok
}

// Address is the address of the app, without a code.
func (s *Server) Address() string { return "http://" + s.name + ":" + s.port + "/" }

// Invitation is the address of the app with a new code.
func (s *Server) Invitation() string { return s.Address() + "#code=" + s.door.newCode() }

// Redeemed reports whether anybody has redeemed a code.
func (s *Server) Redeemed() bool { return s.door.redeemed() }

// Close closes the socket of a server that does not serve.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers requests until ctx is done: with files, of which index.html is the page, and, for those who have a
// token, with api below /api/. Requests that are under way then end with ErrStopped.
func (s *Server) Serve(ctx context.Context, files fs.FS, api http.Handler) error {
	handler, err := s.handler(files, api)
	if err != nil {
		return err
	}
	requests, stop := context.WithCancelCause(context.Background())
	server := &http.Server{
		Handler:                      handler,
		ReadHeaderTimeout:            s.patience,
		IdleTimeout:                  idlePatience,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true, // every response has the headers
		BaseContext:                  func(net.Listener) context.Context { return requests },
		ErrorLog:                     log.New(warner(s.warn), "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.listener) }()
	select {
	case err := <-served:
		stop(err)
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	stop(ErrStopped)
	wait, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	if server.Shutdown(wait) != nil {
		_ = server.Close() // what has not ended by then is cut off
	}
	<-served
	return nil
}

// warnOnce warns of what others can cause as often as they like.
func (s *Server) warnOnce(text string) {
	const most = 10
	s.mu.Lock()
	fresh := !s.said[text] && len(s.said) < most
	if fresh {
		s.said[text] = true
	}
	s.mu.Unlock()
	if fresh {
		s.warn(text)
	}
}

// warner passes on the lines of a log.
type warner func(text string)

func (w warner) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}

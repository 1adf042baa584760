package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// maxCode bounds the body of a redemption, in bytes.
const maxCode = 1 << 10

// redeem is POST /auth: {"code": "..."} gives {"token": "..."}.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request) {
	token, refused := s.exchange(w, r)
	if refused == refuseTwice {
		s.warn("the code of an address was used a second time, so the session that it began has ended; if that was " +
			"not you, another program has read the address. Enter prints a new one")
	}
	if refused != nil {
		refused.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
}

func (s *Server) exchange(w http.ResponseWriter, r *http.Request) (token string, refused *refusal) {
	var asked struct{ Code string }
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return "", refuseType
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCode)).Decode(&asked); err != nil {
		return "", refuseForm
	}
	if err := mayRedeem(r); err != nil {
		s.warnOnce("a browser was turned away: " + err.Error())
		return "", &refusal{http.StatusForbidden, "foreign-user", err.Error(), "peer",
			"run heaptap and the browser as the same user"}
	}
	return s.door.redeem(asked.Code)
}

// authorized passes on the requests that carry a valid token. Their contexts end if it is revoked.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		valid, ok := s.door.admit(token)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuseToken.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(valid, func() { cancel(context.Cause(valid)) })()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// mayRedeem says why the peer of a request may not redeem a code. One on this machine must be a process of this user or
// of root. What is known of one on another machine is that it was let in (Options.Hosts) and has the code.
func mayRedeem(r *http.Request) error {
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if err != nil || !ok {
		return fmt.Errorf("the address of the browser is not known (%s)", r.RemoteAddr)
	}
	uid, err := socketOwner(client, local.AddrPort())
	switch {
	case errors.Is(err, errNoSocket) && !isHere(client.Addr(), local.AddrPort().Addr()):
		return nil
	case err != nil:
		return fmt.Errorf("the kernel does not say which user the browser belongs to: %w", err)
	case uid != 0 && int(uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, and heaptap to user %d", uid, os.Geteuid())
	}
	return nil
}

// isHere reports whether a peer's address is one of this machine.
func isHere(client, local netip.Addr) bool {
	client = client.Unmap().WithZone("")
	if client.IsLoopback() || client == local.Unmap().WithZone("") {
		return true
	}
	list, err := net.InterfaceAddrs()
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(client.AsSlice()) {
			return true
		}
	}
	return err != nil
}

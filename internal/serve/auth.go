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
	var asked struct{ Code string }
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "the body must be JSON (header Content-Type: application/json)")
		return
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCode)).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, `the body must be {"code": "..."}, with the code of the address`)
		return
	}
	if err := mayRedeem(r); err != nil {
		s.warnOnce("a browser was turned away: " + err.Error())
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	token, err := s.door.redeem(asked.Code)
	switch {
	case errors.Is(err, errTwice):
		s.warn("the code in an address was used a second time, so its session has ended; if that was not you, another " +
			"program has read the address. Enter prints a new one")
		refuse(w, http.StatusUnauthorized, err.Error())
	case errors.Is(err, errOften):
		refuse(w, http.StatusTooManyRequests, err.Error())
	case err != nil:
		refuse(w, http.StatusUnauthorized, err.Error()+"; press Enter in the terminal of heaptap for a new address")
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
	}
}

// authorized passes on the requests that carry a valid token. Their contexts end if it is revoked.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		valid, ok := s.door.admit(token)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the request needs the header Authorization: Bearer TOKEN, with a token of "+
				"POST /auth; press Enter in the terminal of heaptap for a new address")
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
		return fmt.Errorf("it belongs to user %d, and heaptap to user %d: start heaptap as the user of the browser", uid,
			os.Geteuid())
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

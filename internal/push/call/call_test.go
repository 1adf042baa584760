package call

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestDo counts the tries.
func TestDo(t *testing.T) {
	for _, c := range []struct {
		status int
		passes bool
	}{{200, true}, {400, false}, {401, false}, {404, false}, {301, false}, {408, true}, {429, true}, {500, false},
		{502, true}, {503, true}, {504, true}} {
		tries := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if tries++; tries == 1 {
				w.WriteHeader(c.status)
			}
		}))
		client := New()
		client.Patience = time.Minute
		err := client.Do(t.Context(), func(ctx context.Context) error {
			_, err := client.Post(ctx, parse(t, server.URL), nil, nil)
			return err
		})
		server.Close()
		if expected := map[bool]int{true: 2, false: 1}[c.passes && c.status != 200]; (err == nil) != c.passes ||
			tries != expected {
			t.Errorf("%d: %v after %d tries", c.status, err, tries)
		}
	}
}

// TestDoEnds: Do gives up when its patience ends, and at once when it is cancelled.
func TestDoEnds(t *testing.T) {
	client := New()
	client.Patience = 300 * time.Millisecond
	retries := 0
	client.OnRetry = func(string) { retries++ }
	begin := time.Now()
	always := errors.New("connection lost")
	if err := client.Do(t.Context(), func(context.Context) error { return always }); !errors.Is(err, always) ||
		time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithCancel(t.Context())
	client.Patience = time.Hour
	if err := client.Do(ctx, func(context.Context) error { cancel(); return always }); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if err := client.Do(ctx, func(context.Context) error { cancel(); return nil }); err != nil {
		t.Errorf("a call that succeeded while it was cancelled: %v", err)
	}
}

// TestSecrets: neither the password nor control characters of a response get into messages.
func TestSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "me" || password != "pass word" {
			t.Errorf("%s %s", name, password)
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("no\x1b[31m way,\n\xff" + strings.Repeat("x", 1000)))
	}))
	defer server.Close()
	u := parse(t, server.URL)
	u.User = url.UserPassword("me", "pass word")
	_, err := New().Post(t.Context(), u, nil, nil)
	if err == nil || strings.Contains(err.Error(), "pass") || strings.ContainsAny(err.Error(), "\x1b\n") ||
		!utf8.ValidString(err.Error()) || len(err.Error()) > 700 ||
		!strings.Contains(err.Error(), "403 Forbidden: no [31m way,") {
		t.Errorf("%q", err)
	}
}

// TestUnary: responses that are not gRPC are errors. Package tests/exports tests real gRPC servers.
func TestUnary(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"text":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) },
		"short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write([]byte{0, 0, 0, 0, 9, 1})
			w.Header().Set("Grpc-Status", "0")
		},
		"unknown status": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "77") },
	} {
		server := httptest.NewUnstartedServer(answer)
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		if _, err := NewGRPC().Unary(t.Context(), parse(t, server.URL), "/a.B/C", nil, []byte("x")); err == nil ||
			!strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}

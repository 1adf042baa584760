package otlp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/push/call"
)

// TestHints: if a server refuses with a google.rpc.Status, the error has its text and says what to do about it.
func TestHints(t *testing.T) {
	for _, c := range []struct {
		status      int
		text, wants string
	}{
		{400, "proto: wrong wireType = 2 for field LinkIndex",
			": 400 Bad Request: proto: wrong wireType = 2 for field LinkIndex; the collector reads a release"},
		{413, "",
			": 413 Request Entity Too Large; send less at once by --every or --metric, or raise max_request_body_size"},
		{400, "http: request body too large", "too large; send less at once"},
		{404, "", "404 Not Found; is the collector started with --feature-gates=service.profilesSupport"},
		{403, "no\x1b[31m way", ": 403 Forbidden: no [31m way"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var m protobuf.Message
			m.Uint(1, 3)
			m.String(2, c.text)
			w.Header().Set("Content-Type", "application/x-protobuf")
			w.WriteHeader(c.status)
			_, _ = w.Write(m.Bytes())
		}))
		to, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		s := NewHTTP(call.New(), to, "")
		_, err = s.send(t.Context(), nil, "v0.4")
		if err = s.withHint(err); err == nil || !strings.Contains(err.Error(), c.wants) ||
			strings.ContainsAny(err.Error(), "\x1b\n\x03") {
			t.Errorf("%d %q: %v", c.status, c.text, err)
		}
		server.Close()
	}
	s := NewGRPC(call.NewGRPC(), &url.URL{Scheme: "http", Host: "localhost:1"}, "")
	large := &call.Error{Server: "x", Code: 8, Text: "grpc: received message larger than max (5000000 vs. 4194304)"}
	if err := s.withHint(large); !strings.Contains(err.Error(), "raise max_recv_msg_size_mib") ||
		!errors.Is(err, error(large)) {
		t.Error(err)
	}
}

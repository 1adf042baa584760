package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

// TestExtremePush sends recordings that are nearly empty or very unusual.
func TestExtremePush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	defer server.Close()
	for name, write := range extremes {
		path := filepath.Join(t.TempDir(), "a.htap")
		write(t, path)
		for _, to := range []string{"--pyroscope ", "--otlp "} {
			askExtreme(t, path, "push "+to+server.URL+" FILE")
			if name != "deep" {
				askExtreme(t, path, "push "+to+server.URL+" --every 1m --by thread FILE")
			}
		}
	}
}

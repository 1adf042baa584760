package call_test

import (
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/push/call"
)

func TestParseAddress(t *testing.T) {
	onlyHTTP, onlyGRPC, both := call.Schemes{HTTP: true}, call.Schemes{GRPC: true}, call.Schemes{HTTP: true, GRPC: true}
	for _, c := range []struct {
		text    string
		schemes call.Schemes
		url     string // "": an error
		grpc    bool
		err     string
	}{
		{"http://a:1/db", onlyHTTP, "http://a:1/db", false, ""},
		{"https://a", both, "https://a", false, ""},
		{"a:1", both, "http://a:1", true, ""},
		{"grpc://a:1/", onlyGRPC, "http://a:1/", true, ""},
		{"grpcs://a:1", onlyGRPC, "https://a:1", true, ""},
		{"a:1", onlyHTTP, "", false, "write http://HOST:PORT"},
		{"", both, "", false, "not an address"},
		{"tcp://a:1", onlyHTTP, "", false, "tcp:// is not supported here; write http://HOST:PORT"},
		{"http://a:1", onlyGRPC, "", false, "http:// is not supported here"},
		{"a", onlyGRPC, "", false, "a: the port is missing"},
		{"a:1/x", both, "", false, "has no path"},
		{"http://me:pa%ss@a", both, "", false, "not an address"},
	} {
		u, grpc, err := call.ParseAddress(c.text, c.schemes)
		switch {
		case c.url == "":
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "pa%ss") {
				t.Errorf("%q: %v, want %q", c.text, err, c.err)
			}
		case err != nil:
			t.Errorf("%q: %v", c.text, err)
		case u.String() != c.url || grpc != c.grpc:
			t.Errorf("%q: %s %v, want %s %v", c.text, u, grpc, c.url, c.grpc)
		}
	}
}

func TestParseHeader(t *testing.T) {
	if name, value, err := call.ParseHeader("X-Scope-OrgID=a=b"); name != "X-Scope-OrgID" || value != "a=b" ||
		err != nil {
		t.Errorf("%s %s %v", name, value, err)
	}
	for _, text := range []string{"secret", "a b=secret", "a=secret\r\nb: c", "=secret"} {
		_, _, err := call.ParseHeader(text)
		if err == nil || text != "secret" && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

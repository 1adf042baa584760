package clickhouse

import (
	"errors"
	"net/url"
	"testing"

	"github.com/heaptap/heaptap/internal/push/call"
)

// TestFailure parses the error texts of old and new servers.
func TestFailure(t *testing.T) {
	for text, want := range map[string]Failure{
		"Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = DB::Exception": {
			"s", 60, "Table a.b doesn't exist."},
		"Code: 60. DB::Exception: Table a.b does not exist. (UNKNOWN_TABLE) (version 24.3.1.2672 (official build))": {
			"s", 60, "Table a.b does not exist. (UNKNOWN_TABLE)"},
		"Code: 516. DB::Exception: default: Authentication failed: password is incorrect " +
			"(AUTHENTICATION_FAILED) (version 23.8)": {
			"s", 516, "default: Authentication failed: password is incorrect (AUTHENTICATION_FAILED)"},
	} {
		var f *Failure
		if !errors.As(parseFailure(&call.Error{Server: "s", Status: 500, Text: text}), &f) || *f != want {
			t.Errorf("%q: %+v", text, f)
		}
	}
	if err := (&call.Error{Server: "s", Status: 503, Text: "a proxy"}); parseFailure(err) != error(err) {
		t.Error("what is not the server's is changed")
	}
}

// TestAddress parses URLs.
func TestAddress(t *testing.T) {
	for text, want := range map[string][4]string{ // URL, database, user, password
		"http://h:8123":      {"http://h:8123/", "heaptap", "env", "env2"},
		"http://h:8123/":     {"http://h:8123/", "heaptap", "env", "env2"},
		"https://a:b@h/base": {"https://h/", "base", "a", "b"},
		"http://a@h/?database=d&user=u&password=p&max_threads=2": {"http://h/?max_threads=2", "d", "u", "p"},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c := call.New()
		s, err := New(c, u, "env", "env2")
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]string{s.to.String(), s.database, c.Header.Get("X-ClickHouse-User"),
			c.Header.Get("X-ClickHouse-Key")}; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestQuoted: a name or a text cannot end its quotes.
func TestQuoted(t *testing.T) {
	if s := quoted("a`b\\"); s != "`a\\`b\\\\`" {
		t.Error(s)
	}
	if s := literal("a'b\\"); s != `'a\'b\\'` {
		t.Error(s)
	}
}

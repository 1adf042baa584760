package serve

import (
	"compress/gzip"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

func gunzip(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCodes: a code is exchanged for a token once, while it is fresh. Each code gives a token of its own.
func TestCodes(t *testing.T) {
	t.Parallel()
	d := newDoor()
	now := time.Now()
	d.now = func() time.Time { return now }
	seen := map[string]bool{}
	for range 3 {
		code := d.newCode()
		now = now.Add(CodeLife)
		token, err := d.redeem(code)
		if err != nil || len(token) < 26 || len(code) < 26 || seen[code] || seen[token] { // 5 bits in each character
			t.Errorf("%q %q, %v", code, token, err)
		}
		seen[code], seen[token] = true, true
		if _, ok := d.admit(token); !ok {
			t.Error("the token is not valid")
		}
		if _, ok := d.admit(code); ok {
			t.Error("the code is a token")
		}
	}
	late := d.newCode()
	now = now.Add(CodeLife + 1)
	if _, err := d.redeem(late); err != refuseLate {
		t.Errorf("a code that is too old: %v", err)
	}
	for _, wrong := range []string{"", "x", late[:25], late + "x"} {
		if _, err := d.redeem(wrong); err != refuseWrong {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, ok := d.admit(""); ok {
		t.Error("a code without a token lets in who has none")
	}
}

// TestWrongCodes: after some wrong codes, none is accepted for a while.
func TestWrongCodes(t *testing.T) {
	t.Parallel()
	d := newDoor()
	now := time.Now()
	d.now = func() time.Time { return now }
	for range maxWrong {
		if _, err := d.redeem("wrong"); err != refuseWrong {
			t.Fatal(err)
		}
	}
	for _, code := range []string{"wrong", d.newCode()} {
		if _, err := d.redeem(code); err != refuseOften {
			t.Errorf("after %d wrong codes: %v", maxWrong, err)
		}
	}
	now = now.Add(wrongSpan + 1)
	if _, err := d.redeem(d.newCode()); err != nil {
		t.Errorf("a minute later: %v", err)
	}
}

// TestManyCodes: who presses Enter all day has the newest codes; tokens stay.
func TestManyCodes(t *testing.T) {
	t.Parallel()
	d := newDoor()
	token, err := d.redeem(d.newCode())
	if err != nil {
		t.Fatal(err)
	}
	for range 10 * maxCodes {
		d.newCode()
	}
	if len(d.passes) != maxCodes {
		t.Errorf("%d codes are kept", len(d.passes))
	}
	if _, ok := d.admit(token); !ok {
		t.Error("the token is forgotten")
	}
	for range 10 * maxCodes {
		if _, err := d.redeem(d.newCode()); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.passes) != maxCodes {
		t.Errorf("%d tokens are kept", len(d.passes))
	}
}

// TestRace: of those who redeem a code at once, one gets a token, and unless it is alone, the token is worth nothing.
func TestRace(t *testing.T) {
	t.Parallel()
	d := newDoor()
	code := d.newCode()
	var mu sync.Mutex
	var tokens []string
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if token, err := d.redeem(code); err == nil {
				mu.Lock()
				defer mu.Unlock()
				tokens = append(tokens, token)
			}
		})
	}
	all.Wait()
	if len(tokens) != 1 {
		t.Fatalf("%d tokens", len(tokens))
	}
	if _, ok := d.admit(tokens[0]); ok {
		t.Error("the token is still valid")
	}
}

// TestTwice: the second redemption of a code ends the session of the first, with what it has under way, and warns the
// user. Other sessions go on.
func TestTwice(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	other := s.token()
	code := s.code()
	_, token, _ := s.present(code)
	if response, _ := s.ask("GET", "/api/v1/x", "", "Authorization: Bearer "+token); response.StatusCode != 200 {
		t.Fatalf("with a token: %s", response.Status)
	}
	stream := s.stream(token)
	status, second, text := s.present(code)
	if status != 401 || second != "" || !strings.Contains(text, "used before") {
		t.Errorf("the second redemption: %d %q %q", status, second, text)
	}
	if line, err := stream.ReadString('\n'); err != nil || !strings.Contains(line, ErrRevoked.Error()) {
		t.Errorf("the stream ends with %q, %v", line, err)
	}
	for bearer, want := range map[string]int{token: 401, other: 200} {
		if response, _ := s.ask("GET", "/api/v1/x", "", "Authorization: Bearer "+bearer); response.StatusCode != want {
			t.Errorf("after it: %s, want %d", response.Status, want)
		}
	}
	if got := s.warned(); len(got) != 1 || !strings.Contains(got[0], "a second time") {
		t.Errorf("warnings: %q", got)
	}
	if status, _, text := s.present("wrong"); status != 401 || !strings.Contains(text, "press Enter") {
		t.Errorf("a wrong code: %d %q", status, text)
	}
	for range maxWrong {
		s.present("wrong")
	}
	if status, _, _ := s.present(s.code()); status != 429 {
		t.Errorf("after %d wrong codes: %d", maxWrong, status)
	}
}

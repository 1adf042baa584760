package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// session is a heaptap open or serve under test.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.Writer
	out    *bufio.Reader
	errors *bufio.Reader
}

// newSession makes a recording, a.htap, and starts a command for it.
func newSession(t *testing.T, env string, args ...string) *session {
	t.Helper()
	cmd := command(t, "heaptap", append(args, "a.htap")...)
	record := command(t, "heaptap", "run", "-q", "-o", "a.htap", "--", "ls")
	record.Dir = cmd.Dir
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd.Env = append(cmd.Env, "BROWSER=", "DISPLAY=", "WAYLAND_DISPLAY=", "SSH_CONNECTION=", "SSH_CLIENT=", "SSH_TTY=",
		env)
	s := &session{t: t, cmd: cmd}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out, s.errors = in, bufio.NewReader(out), bufio.NewReader(problems)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return s
}

// expect reads a line, which must match.
func (s *session) expect(from *bufio.Reader, pattern string) []string {
	s.t.Helper()
	line, err := from.ReadString('\n')
	match := regexp.MustCompile(pattern).FindStringSubmatch(line)
	if match == nil {
		s.t.Fatalf("the line %q (%v) does not match %q", line, err, pattern)
	}
	return match
}

const invitation = `^(http://127\.0\.0\.1:\d+/)#code=(\w{26})  a\.htap \(open it within 30 s; `

// redeem is what a browser with a code gets.
func (s *session) redeem(address, code string) (status int, token string) {
	s.t.Helper()
	response, err := http.Post(address+"auth", "application/json", strings.NewReader(fmt.Sprintf(`{"code": %q}`, code)))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, answer.Token
}

// status is that of a page.
func (s *session) status(url, token string) int {
	s.t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// end sends a signal, which must end the command with status 0, and its port.
func (s *session) end(address string, sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	rest, _ := io.ReadAll(s.errors)
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("%v, %s", err, rest)
	}
	if c, err := net.Dial("tcp", strings.Trim(address, "htp:/")); err == nil {
		c.Close()
		s.t.Error("the port is still open")
	}
}

// TestServe: a code of the printed address is exchanged for a token, and that for answers. Enter gives another code. A
// code that is used twice is worth nothing.
func TestServe(t *testing.T) {
	t.Parallel()
	s := newSession(t, "", "serve")
	line := s.expect(s.out, invitation)
	address, code := line[1], line[2]
	if got := s.status(address, ""); got != 200 {
		t.Errorf("the page: status %d", got)
	}
	status, token := s.redeem(address, code)
	if status != 200 || token == "" {
		t.Fatalf("status %d, token %q", status, token)
	}
	session := address + "api/v1/session"
	if with, without := s.status(session, token), s.status(session, ""); with == 401 || without != 401 {
		t.Errorf("with a token %d, without one %d", with, without)
	}
	fmt.Fprintln(s.in)
	line = s.expect(s.out, invitation)
	if line[1] != address || line[2] == code {
		t.Errorf("then: %q", line)
	}
	_, other := s.redeem(address, line[2])
	if status, _ := s.redeem(address, code); status != 401 {
		t.Errorf("the second time: status %d", status)
	}
	s.expect(s.errors, `^heaptap: the code of an address was used a second time`)
	if first, second := s.status(session, token), s.status(session, other); first != 401 || second == 401 {
		t.Errorf("then: with the token of that code %d, with the other %d", first, second)
	}
	s.end(address, unix.SIGINT)
}

// TestOpen: the browser gets the address with a code, and the terminal the one without. If it fails, the terminal gets
// one, too.
func TestOpen(t *testing.T) {
	t.Parallel()
	browser := filepath.Join(t.TempDir(), "browser")
	got := filepath.Join(filepath.Dir(browser), "got") // a pipe: reading it waits for the browser
	if err := errors.Join(os.WriteFile(browser, []byte("#!/bin/sh\necho $1 >"+got+"\n"), 0o755),
		unix.Mkfifo(got, 0o600)); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, "BROWSER="+browser, "open", "--read-only", "--no-source")
	address := s.expect(s.out, `^(http://127\.0\.0\.1:\d+/)  a\.htap \(in the browser; `)[1]
	shown, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	code, ok := strings.CutPrefix(strings.TrimSpace(string(shown)), address+"#code=")
	if status, token := s.redeem(address, code); !ok || status != 200 || token == "" {
		t.Errorf("the browser was given %q, status %d", shown, status)
	}
	s.end(address, unix.SIGTERM)

	s = newSession(t, "BROWSER=false", "open")
	address = s.expect(s.out, `^(http://127\.0\.0\.1:\d+/)  a\.htap `)[1]
	s.expect(s.errors, `^heaptap: false: exit status 1; open this address yourself`)
	if line := s.expect(s.out, invitation); line[1] != address {
		t.Errorf("%q, then %q", address, line[1])
	}
	s.end(address, unix.SIGINT)

	s = newSession(t, "", "open")
	s.expect(s.errors, `^heaptap: there is no display: no browser is started`)
	address = s.expect(s.out, invitation)[1]
	s.end(address, unix.SIGHUP)
}

// TestServeUnreadable: what cannot be read is said, and the rest is served; without a rest the command fails at once.
func TestServeUnreadable(t *testing.T) {
	t.Parallel()
	s := newSession(t, "", "serve", "missing.htap", "/dev/null")
	s.expect(s.errors, `^heaptap: open missing\.htap: no such file or directory; the other recordings are shown\n`)
	s.expect(s.errors, `^heaptap: /dev/null: .*; the other recordings are shown\n`)
	found := s.expect(s.out, `^(http://127\.0\.0\.1:\d+/)#code=(\w{26})  missing\.htap, null, a\.htap \(open`)
	_, token := s.redeem(found[1], found[2])
	if status := s.status(found[1]+"api/v1/session", token); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	s.end(found[1], unix.SIGINT)

	cmd := command(t, "heaptap", "serve", "bad.htap", "missing.htap")
	if err := os.WriteFile(filepath.Join(cmd.Dir, "bad.htap"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || !strings.HasPrefix(text, "heaptap: bad.htap: not a heaptap recording") ||
		!strings.Contains(text, "; open missing.htap: no such file") || strings.Contains(text, "http://") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestSourceFlagsOfServe: what does not fit together is refused before anything is served.
func TestSourceFlagsOfServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, args string }{
		{"--no-source excludes", "serve --no-source --source-path src a.htap"},
		{"not of the form FROM=TO", "open --source-map src a.htap"},
		{"matches everything", "open --own * a.htap"},
	} {
		out, err := command(t, "heaptap", strings.Fields(c.args)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v %s", c.args, err, out)
		}
	}
}

// TestOpenInBackground: in the background of a terminal, the server runs on; in the foreground, Enter gives an address.
func TestOpenInBackground(t *testing.T) {
	term := newTerminal(t)
	term.line("heaptap run -q -o a.htap ls; heaptap serve a.htap &")
	term.expect(`#code=`)
	term.line("fg")
	term.expect(`heaptap serve a.htap`)
	term.line("")
	term.expect(`#code=`)
	term.keys("\x03")
	term.expect(`\$ $`)
	term.line("echo status $?")
	term.expect(`status 0\n`)
}

package browser

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFind: where the user sees no browser, none is started.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		env, programs string
		want          string // the command; "": the error's words are in err
		err           string
	}{
		{"DISPLAY=:0", "xdg-open", "xdg-open", ""},
		{"WAYLAND_DISPLAY=wayland-0", "xdg-open firefox", "xdg-open", ""},
		{"", "xdg-open", "", "no display"},
		{"DISPLAY=:0", "firefox", "", "no xdg-open"},
		{"DISPLAY=:0 SSH_CONNECTION=x", "xdg-open", "", "ssh"},
		{"DISPLAY=:0 SSH_TTY=/dev/pts/0", "xdg-open", "", "ssh"},
		{"BROWSER=firefox", "firefox", "firefox", ""},
		{"BROWSER=firefox SSH_CLIENT=x", "firefox", "firefox", ""},
		{"BROWSER=lynx:firefox_-P_x_%s DISPLAY=:0", "xdg-open firefox", "firefox -P x %s", ""},
		{"BROWSER=: DISPLAY=:0", "xdg-open", "xdg-open", ""},
		{"BROWSER=none DISPLAY=:0", "xdg-open", "xdg-open", ""},
		{"BROWSER=none", "xdg-open", "", "no display"},
	} {
		got, err := Find(func(name string) string {
			for _, e := range strings.Fields(x.env) {
				if value, ok := strings.CutPrefix(e, name+"="); ok {
					return strings.ReplaceAll(value, "_", " ")
				}
			}
			return ""
		}, func(name string) (string, error) {
			if slices.Contains(strings.Fields(x.programs), name) {
				return "/bin/" + name, nil
			}
			return "", errors.ErrUnsupported
		})
		if strings.Join(got, " ") != x.want || (err == nil) != (x.err == "") ||
			err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s, with %s: %q, %v", x.env, x.programs, got, err)
		}
	}
}

// TestOpen: the address is one argument, whatever is in it.
func TestOpen(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:1/#code=a b$(c);"
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []Command{
		{"sh", "-c", `echo "$1" >"$0"`, out},
		{"sh", "-c", `echo "$2" >"$0"`, out, "--new-window"},
		{"sh", "-c", `echo "$1" >"$0"`, out, "%s", "--new-window"},
	} {
		done := make(chan error)
		go c.Open(address, func(err error) { done <- err })
		if err := <-done; err != nil {
			t.Errorf("%q: %v", c, err)
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != address+"\n" {
			t.Errorf("%q: %q, %v", c, text, err)
		}
	}
	for _, c := range []Command{{"false"}, {filepath.Join(t.TempDir(), "none")}} {
		done := make(chan error)
		go c.Open(address, func(err error) { done <- err })
		if err := <-done; err == nil {
			t.Errorf("%q: no error", c)
		}
	}
}

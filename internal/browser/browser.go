// Package browser starts the browser of the user, if there is one that they could see.
package browser

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
)

// Command is a program that shows an address in a browser: its name and arguments. %s in an argument stands for the
// address; without one, the address is the last argument.
type Command []string

// Find returns the command by which to show addresses to this user: $BROWSER, or xdg-open. It returns an error that
// says why there is none. getenv and look are os.Getenv and exec.LookPath.
func Find(getenv func(string) string, look func(string) (string, error)) (Command, error) {
	// BROWSER is a list. It also counts where there is no display: editors set it to show pages on another machine.
	for _, text := range strings.Split(getenv("BROWSER"), ":") {
		if c := strings.Fields(text); len(c) > 0 {
			if _, err := look(c[0]); err == nil {
				return c, nil
			}
		}
	}
	switch {
	case getenv("SSH_CONNECTION") != "" || getenv("SSH_CLIENT") != "" || getenv("SSH_TTY") != "":
		return nil, errors.New("this is a session of ssh")
	case getenv("DISPLAY") == "" && getenv("WAYLAND_DISPLAY") == "":
		return nil, errors.New("there is no display")
	}
	if _, err := look("xdg-open"); err != nil {
		return nil, errors.New("there is no xdg-open, and BROWSER is not set")
	}
	return Command{"xdg-open"}, nil
}

// Open starts the command. It does not wait; done is called with what came of it, which may be when the browser ends.
// The browser is in a session of its own: what Ctrl-C ends here, it does not end there.
func (c Command) Open(address string, done func(err error)) {
	cmd := exec.Command(c[0], c.arguments(address)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		done(err)
		return
	}
	go func() { done(cmd.Wait()) }()
}

func (c Command) arguments(address string) []string {
	args := append([]string(nil), c[1:]...)
	placed := false
	for i, a := range args {
		placed = placed || strings.Contains(a, "%s")
		args[i] = strings.ReplaceAll(a, "%s", address)
	}
	if !placed {
		args = append(args, address)
	}
	return args
}

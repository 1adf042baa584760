package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// tree is a copy of the repository, in which faults are planted.
type tree struct {
	dir   string
	limit time.Duration // of each command
}

// copyTree copies the files that git knows or would add into a temporary folder.
func copyTree(root string) (string, error) {
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	if err != nil {
		return "", fmt.Errorf("git ls-files: %w", err)
	}
	dir, err := os.MkdirTemp("", "heaptap-mutate-")
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // deleted, and git does not know yet
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(from)
		}
		if err == nil {
			err = os.WriteFile(to, data, info.Mode().Perm())
		}
		if err != nil {
			os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
}

// try builds the tree and runs tests until one fails.
func (t tree) try(build string, tests []string) result {
	begin := time.Now()
	if output, ok := t.command(build); !ok {
		return result{noBuild, firstLine(output), output, time.Since(begin)}
	}
	for _, test := range tests {
		output, ok := t.command(test)
		switch {
		case ok:
			continue
		case strings.Contains(output, "[build failed]"):
			return result{noBuild, firstLine(output), output, time.Since(begin)}
		case strings.Contains(output, timedOut) || strings.Contains(output, "panic: test timed out"):
			return result{tooLong, finder(output), output, time.Since(begin)}
		}
		return result{found, finder(output), output, time.Since(begin)}
	}
	return result{verdict: survived, took: time.Since(begin)}
}

// command runs a command of the shell, with all that it starts, and says whether it succeeded within the limit.
func (t tree) command(text string) (output string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-c", text)
	c.Dir = t.dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	if ctx.Err() != nil {
		fmt.Fprintf(&b, "\nFAILED: %s %s %v\n", text, timedOut, t.limit)
	}
	return b.String(), err == nil
}

const timedOut = "took longer than"

// failure is what Go's tests and the agent's say of a test that has failed.
var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^FAILED: (.*)|^(panic: .*)|^(fatal error: .*)`)

// finder returns which tests failed, from the output of all: the first ones.
func finder(output string) string {
	var names []string
	for _, m := range failure.FindAllStringSubmatch(output, 3) {
		names = append(names, m[1]+m[2]+m[3]+m[4])
	}
	if names == nil {
		return firstLine(output)
	}
	return strings.Join(names, ", ")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Package examples executes the commands of the documentation and of the help, as they are written.
package examples

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

func TestMain(m *testing.M) { kit.Main(m) }

// example is a command of a page.
type example struct{ from, text string }

// notHere are the commands that are not executed, and why not.
var notHere = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\[flags\]|\bFILE\b|\bPID\b|\bNAME\b|\.\.\.( |$)| \| start \|`), "a form, not a command"},
	{regexp.MustCompile(`^heaptap push|DEBUGINFOD_URLS=http|\bssh\b`), "needs a server; tests/exports has some"},
	{regexp.MustCompile(`\bfish\b|\bzsh\b`), "needs another shell"},
	{regexp.MustCompile(`^make |^CGO_ENABLED`), "builds heaptap itself, as these tests do"},
	{regexp.MustCompile(`--install|make install|/etc/|/usr/`), "writes to the system's folders"},
	{regexp.MustCompile(`^heaptap check --format github$`), "the end of a sentence"},
	{regexp.MustCompile(`^heaptap (leaks|report|export -f svg)$`), "the name of a command"},
}

// mayFail are commands whose status 1 is an answer.
var mayFail = regexp.MustCompile(`--check|heaptap check|--exit-status 1`)

// isServer tells a command that goes on until Ctrl-C.
var isServer = regexp.MustCompile(`^heaptap (open|serve)\b`)

// ofMarks tells a command that names marks of the server.
var ofMarks = regexp.MustCompile(`--from warm|--mark '`)

// processID is where an example has a process id.
var processID = regexp.MustCompile(`( )4711( |$)`)

// pageExamples are the commands in the code blocks of a page.
func pageExamples(t *testing.T, page string) (list []example) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(page)
	var open strings.Builder // a command that goes on
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		text, code := strings.CutPrefix(line, "    ")
		if open.Len() == 0 && (!code || !isCommand(text)) {
			continue
		}
		open.WriteString(strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		if goesOn(open.String()) {
			open.WriteByte('\n')
			continue
		}
		list = append(list, example{name, open.String()})
		open.Reset()
	}
	if name == "README.md" { // whose table of questions has commands, too
		for _, c := range regexp.MustCompile("`(heaptap [^`]*)`").FindAllStringSubmatch(string(b), -1) {
			list = append(list, example{name, c[1]})
		}
	}
	if open.Len() > 0 {
		t.Errorf("%s: this command does not end: %s", page, open.String())
	}
	return list
}

var command = regexp.MustCompile(`^(\$ )?(\(?eval "\$\(heaptap |([A-Z_]+=\S+ )*(heaptap |\./app))`)

func isCommand(text string) bool { return command.MatchString(text) }

// goesOn reports whether a command continues on the next line.
func goesOn(text string) bool {
	code, _, _ := strings.Cut(text, " # ")
	return strings.HasSuffix(code, "|") || strings.HasSuffix(code, `\`) || strings.Count(code, "'")%2 == 1
}

// helpExamples are the commands in the help of all commands and topics.
func helpExamples(t *testing.T) (list []example) {
	t.Helper()
	help := kit.Heaptap(t, "help")
	names := regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(help, -1)
	if len(names) < 25 {
		t.Fatalf("%d commands in\n%s", len(names), help)
	}
	_, topics, _ := strings.Cut(help, "one of these topics:\n")
	words := regexp.MustCompile(`[a-z-]+`).FindAllString(topics, -1)
	for _, n := range names {
		if n[1] != "heaptap" {
			words = append(words, n[1])
		}
	}
	for _, w := range append(words, "") {
		inside := strings.Contains(topics, w) && w != "" // topics have commands anywhere
		for line := range strings.Lines(kit.Heaptap(t, strings.Fields("help "+w)...)) {
			switch line {
			case "Examples:\n":
				inside = true
			case "Flags:\n", "Usage:\n":
				inside = false
			}
			if text := strings.TrimSpace(line); inside && strings.HasPrefix(line, "  ") && isCommand(text) {
				list = append(list, example{"heaptap help " + w, text})
			}
		}
	}
	return list
}

// TestExamples executes every command that README, docs and help texts have.
func TestExamples(t *testing.T) {
	for _, tool := range []string{"g++", "jq", "python3", "make", "sqlite3"} {
		need.Tool(t, tool)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	for _, p := range append(pages, "../../README.md") {
		list = append(list, pageExamples(t, p)...)
	}
	list = append(list, helpExamples(t)...)

	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	work := filepath.Join(dir, "work")
	for _, d := range []string{bin, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(kit.Binary(t), filepath.Join(bin, "heaptap")); err != nil {
		t.Fatal(err)
	}
	// The script that makes flame graphs of folded stacks is not of this project.
	if err := os.WriteFile(filepath.Join(bin, "flamegraph.pl"), []byte("#!/bin/sh\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	include, err := filepath.Abs("../../include")
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{work, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+work, "SHELL=/bin/bash",
		"XDG_CACHE_HOME="+dir, "SECRET=x", "DEBUGINFOD_URLS=",
		"INCLUDE="+include)}
	fixture, err := filepath.Abs("testdata/fixture.sh")
	if err != nil {
		t.Fatal(err)
	}
	if out, status := s.run("bash " + fixture); status != 0 {
		t.Fatalf("status %d\n%s", status, out)
	}
	pid := s.serve(t)

	// The commands of a page share a folder: one reads what another has written.
	folders := map[string]*shell{}
	executed, skipped := map[string]bool{}, 0
	for _, e := range list {
		text := e.text
		key := e.from + ": " + text
		if executed[key] || isSkipped(text) {
			skipped++
			continue
		}
		executed[key] = true
		folder, ok := folders[e.from]
		if !ok {
			folder = &shell{filepath.Join(dir, fmt.Sprint(len(folders))), s.env}
			if out, status := s.run("cp -r . " + folder.dir); status != 0 {
				t.Fatal(out)
			}
			folders[e.from] = folder
		}
		t.Run(e.from+": "+text, func(t *testing.T) {
			if processID.MatchString(text) || ofMarks.MatchString(text) {
				folder = &shell{filepath.Join(work, "live"), s.env}
				text = processID.ReplaceAllString(text, "${1}"+pid+"${2}")
			}
			run := folder.run
			if isServer.MatchString(text) {
				run = folder.interrupted
			}
			out, status := run(text)
			if status != 0 && (status != 1 || !mayFail.MatchString(text)) {
				t.Errorf("status %d\n%.2000s", status, out)
			}
			if bytes.ContainsRune([]byte(out), 0) {
				t.Error("prints binary data")
			}
		})
	}
	t.Logf("%d commands, %d skipped or repeated", len(executed), skipped)
	if len(executed) < 100 {
		t.Errorf("only %d commands were found", len(executed))
	}
}

// TestReadme holds what the README says about its example, and its numbers, to what they come from.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(b)
	program, err := os.ReadFile("../../tools/demo/bookshop.amd64")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bookshop"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(kit.Binary(t), "run", "-o", "bookshop.htap", "./bookshop")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COLUMNS=100")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ranked := regexp.MustCompile(`(?m)^ +[0-9.]+ .B +([0-9]+)\.[0-9] %  (.*)$`)
	want, got := ranked.FindAllStringSubmatch(readme, -1), ranked.FindAllStringSubmatch(string(out), -1)
	if len(want) < 2 || len(got) < len(want) {
		t.Fatalf("%d rows in the README, in\n%s", len(want), out)
	}
	for i := range want {
		if got[i][0] != strings.TrimPrefix(want[i][0], "    ") {
			t.Errorf("row %d of the README is %q, heaptap says %q", i, want[i][0], got[i][0])
		}
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := regexp.MustCompile(`\| (\+[0-9.]+ ns|[0-9.]+x) `).FindAllStringSubmatch(readme, -1)
	if len(cells) < 12 {
		t.Errorf("%d numbers in the README's table", len(cells))
	}
	for _, c := range cells {
		if !strings.Contains(string(page), "| "+c[1]+" |") {
			t.Errorf("docs/performance.md does not have %s, which the README quotes", c[1])
		}
	}
}

func isSkipped(text string) bool {
	text, _, _ = strings.Cut(text, " # ")
	for _, n := range notHere {
		if n.pattern.MatchString(text) {
			return true
		}
	}
	return false
}

// shell executes commands in a folder.
type shell struct {
	dir string
	env []string
}

func (s *shell) run(text string) (out string, status int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, s.env, 10*time.Second
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(b), 0
	case errors.As(err, &exit):
		return string(b), exit.ExitCode()
	}
	return fmt.Sprintf("%s\n%v", b, err), -1
}

// interrupted executes a command, and interrupts it when it has printed a line. The port is a free one.
func (s *shell) interrupted(text string) (out string, status int) {
	cmd := exec.Command("bash", "-c", "exec "+strings.Replace(text, "--port 8080", "--port 0", 1))
	cmd.Dir, cmd.Env = s.dir, append(s.env, "BROWSER=true")
	lines, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err.Error(), -1
	}
	line, err := bufio.NewReader(lines).ReadString('\n')
	if err == nil {
		err = cmd.Process.Signal(os.Interrupt)
	}
	return fmt.Sprint(line, errors.Join(err, cmd.Wait())), cmd.ProcessState.ExitCode()
}

// serve starts a server that is recorded until the test ends, in the folder "live", with the marks of the examples. It
// returns its process id.
func (s *shell) serve(t *testing.T) (pid string) {
	t.Helper()
	live := filepath.Join(s.dir, "live")
	if err := os.Mkdir(live, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(kit.Binary(t), "run", "-q", "-o", "server.4711.htap", "--", "../server", "forever")
	cmd.Dir, cmd.Env = live, s.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("kill", pid).Run()
		_ = cmd.Wait() // it ends by the signal
	})
	kit.Until(t, "the server is recorded", func() bool {
		b, _ := os.ReadFile(filepath.Join(live, "pid"))
		pid = strings.TrimSpace(string(b))
		if pid == "" {
			return false
		}
		_, status := s.run("heaptap ctl " + pid)
		return status == 0
	})
	for _, name := range []string{"warm", "after warm-up", "click 1", "click 2", "click 3"} {
		out, status := s.run(fmt.Sprintf("heaptap ctl %s mark %q && heaptap ctl %[1]s flush", pid, name))
		if status != 0 {
			t.Fatal(out)
		}
	}
	return pid
}

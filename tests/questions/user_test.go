package questions

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// user types commands on a terminal, in a folder of their own.
type user struct {
	*testing.T
	dir     string
	columns string
	env     []string // variables that only they have set
}

// newUser gives a user a copy of a folder of testdata.
func newUser(t *testing.T, testdata string) *user {
	t.Helper()
	u := &user{T: t, dir: t.TempDir(), columns: "80"}
	if testdata != "" {
		if err := os.CopyFS(u.dir, os.DirFS(filepath.Join("testdata", testdata))); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// wide is the same user on a terminal of 200 columns.
func (u *user) wide() *user {
	wide := *u
	wide.columns = "200"
	return &wide
}

// has is the same user with another variable.
func (u *user) has(variable string) *user {
	other := *u
	other.env = append(other.env[:len(other.env):len(other.env)], variable)
	return &other
}

// command is a line for a shell that finds heaptap.
func (u *user) command(line string) *exec.Cmd {
	u.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = u.dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HEAPTAP_") && !strings.HasPrefix(v, "DEBUGINFOD_URLS=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(kit.Binary(u))+":"+os.Getenv("PATH"), "COLUMNS="+u.columns,
		"XDG_CACHE_HOME="+filepath.Join(kit.Dir(u), "cache"), "GOCACHE="+goCache(), "LC_ALL=C.UTF-8")
	cmd.Env = append(cmd.Env, u.env...)
	return cmd
}

// goCache is where go keeps what it has built; not where the users' XDG_CACHE_HOME would have it.
var goCache = sync.OnceValue(func() string {
	dir, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(dir))
})

// answer is what a command printed.
type answer struct {
	*user
	line string // that was typed
	out  string
	err  string
}

// types runs a line, which must succeed.
func (u *user) types(line string) answer {
	u.Helper()
	return u.ends(0, line)
}

// ends runs a line that must end with this status.
func (u *user) ends(status int, line string) answer {
	u.Helper()
	cmd := u.command(line)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); cmd.ProcessState.ExitCode() != status {
		u.Fatalf("%s: %v, want status %d\n%s%s", line, e, status, out.String(), err.String())
	}
	return answer{u, line, out.String(), err.String()}
}

// summary is what heaptap run printed behind the program's own output on stderr.
func (a answer) summary() answer {
	if _, text, found := strings.Cut("\n"+a.err, "\n\n"); found {
		a.out = text
	}
	return a
}

// screen is how many lines a terminal shows at once.
const screen = 24

// says returns what a pattern's groups match within the first lines of the answer, where it must match.
func (a answer) says(first int, pattern string) []string {
	a.Helper()
	lines := strings.SplitAfter(a.out, "\n")
	head := strings.Join(lines[:min(first, len(lines))], "")
	found := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(head)
	if found == nil {
		a.Fatalf("$ %s   # %s columns: the first %d lines do not say %q\n%s%s", a.line, a.columns, first, pattern, head,
			a.err)
	}
	return found
}

// where is what heaptap says on stderr about which recording it took.
func (a answer) where(pattern string) {
	a.Helper()
	if !regexp.MustCompile(pattern).MatchString(a.err) {
		a.Errorf("$ %s   # it does not say that it took %q\n%s", a.line, pattern, a.err)
	}
}

// fits tells whether no line is wider than the terminal, but for a path that cannot be broken.
func (a answer) fits() answer {
	a.Helper()
	width, _ := strconv.Atoi(a.columns)
	for line := range strings.Lines(a.out) {
		if line = strings.TrimRight(line, "\n"); len([]rune(line)) > width &&
			strings.Contains(strings.TrimSpace(line), " ") {
			a.Errorf("$ %s   # a line of more than %d columns:\n%s", a.line, width, line)
		}
	}
	return a
}

// quantity is a size or a number as heaptap prints them.
const quantity = `([\d.,]+ ?[kMGT]?B?)`

// number is what a quantity means.
func number(t testing.TB, text string) float64 {
	t.Helper()
	digits := strings.ReplaceAll(strings.TrimRight(text, " kMGTB"), ",", "")
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		t.Fatalf("%q is not a number: %v", text, err)
	}
	for i, prefix := range "kMGT" {
		if strings.ContainsRune(text, prefix) {
			n *= math.Pow(1000, float64(i+1))
		}
	}
	return n
}

// near compares what heaptap says with what another one says.
func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	t.Logf("%s: heaptap %.0f, judge %.0f", what, got, want)
	if math.Abs(got-want) > tolerance*want {
		t.Errorf("%s: heaptap says %.0f, the judge %.0f", what, got, want)
	}
}

// held is a program that runs under heaptap and waits at its peak.
type held struct {
	*user
	pid     int
	printed string // before it waits
	finish  func() answer
}

// holds runs a line whose program prints "ready" and then waits for the end of its standard input. It returns when
// heaptap has seen the resident set that the program has.
func (u *user) holds(line string) held {
	u.Helper()
	cmd := u.command(line)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		u.Fatal(err)
	}
	ended := false
	u.Cleanup(func() {
		if !ended { // a test failed
			stdin.Close()
			cmd.Wait()
		}
	})
	h := held{user: u}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		h.printed += lines.Text() + "\n"
	}
	h.finish = func() answer {
		u.Helper()
		ended = true
		stdin.Close()
		rest, _ := io.ReadAll(stdout)
		if err := cmd.Wait(); err != nil {
			u.Fatalf("%s: %v\n%s%s%s", line, err, h.printed, rest, stderr.String())
		}
		return answer{u, line, h.printed + string(rest), stderr.String()}
	}
	var runs []string
	kit.Until(u, "a run", func() bool { // the recorder may be a moment behind
		runs, _ = filepath.Glob(filepath.Join(u.dir, "*.htap"))
		return len(runs) > 0
	})
	if len(runs) != 1 {
		u.Fatalf("%s left %d runs here: %q\n%s%s", line, len(runs), runs, h.printed, stderr.String())
	}
	pid := regexp.MustCompile(`\.(\d+)\.htap$`).FindStringSubmatch(runs[0])
	if pid == nil {
		u.Fatalf("%s is not a run's name", runs[0])
	}
	h.pid, _ = strconv.Atoi(pid[1])
	kit.Until(u, "the resident set in heaptap memory", func() bool {
		out, _ := u.command("heaptap memory").Output() // which fails while nothing is recorded yet
		all := regexp.MustCompile(quantity + `\s+100 %\s+in all`).FindStringSubmatch(string(out))
		return all != nil && number(u, all[1]) >= 0.97*h.kernel("VmRSS")
	})
	return h
}

// kernel is a size that the kernel knows of the program, in bytes.
func (h held) kernel(name string) float64 {
	h.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(h.pid) + "/status")
	if err != nil {
		h.Fatal(err)
	}
	kB := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
	if kB == nil {
		h.Fatalf("no %s in\n%s", name, status)
	}
	n, _ := strconv.ParseFloat(string(kB[1]), 64)
	return n * 1024
}

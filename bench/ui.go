package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// The section on what the web app asks. A separate run measures it; all other runs keep it.
const uiHeading = "## What the web app asks\n"

// listensIn is the goal for the time from heaptap serve to an open socket, s.
const listensIn = .15

// uiRounds is how often a question is asked, each time about another range, so that no answer is a cached one.
const uiRounds = 60

// cell is a question as the app asks it.
type cell struct {
	name     string
	goal     float64 // s
	quantile float64 // at which the goal holds
	query    func(rng *rand.Rand) string
}

// cells are the questions with their goals.
var cells = []cell{
	{"timeline, about 400 steps, whole, rough", .06, .95, func(rng *rand.Rand) string {
		return fmt.Sprintf("process?rough=pixel&steps=%d", 300+rng.IntN(200))
	}},
	{"timeline, 400 steps, of a range, rough", .06, .95, func(rng *rand.Rand) string {
		return "process?rough=pixel&steps=400" + between(rng)
	}},
	{"timeline, 400 steps, of a range, exact", .06, .95, func(rng *rand.Rand) string {
		return "process?steps=400" + between(rng)
	}},
	{"call tree of a range, rough, 2,000 nodes", .008, .5, func(rng *rand.Rand) string {
		return "tree?metric=bytes&threshold=0&nodes=2000&rough=pixel" + between(rng)
	}},
	{"table of a range, rough, 200 rows", .008, .5, func(rng *rand.Rand) string {
		return "top?by=function&metric=bytes&limit=200&rough=pixel" + between(rng)
	}},
	{"curve of functions over the run", .005, .5, func(rng *rand.Rand) string {
		return fmt.Sprintf("curve?of=%c%c", 'a'+rng.IntN(26), 'a'+rng.IntN(26))
	}},
	{"call tree of a range, exact", .03, .95, func(rng *rand.Rand) string {
		return "tree?metric=allocations,bytes,freed,temporary" + between(rng)
	}},
	{"call tree of a range, exact: live and peak, too", .03, .95, func(rng *rand.Rand) string {
		return "tree?metric=allocations,bytes,freed,live,peak,temporary" + between(rng)
	}},
	{"20,000 nodes of callers", .06, .5, func(rng *rand.Rand) string {
		return fmt.Sprintf("tree?up&metric=bytes&threshold=0&nodes=%d", 19_900+rng.IntN(100))
	}},
	{"100,000 nodes of callers", .25, .5, func(rng *rand.Rand) string {
		return fmt.Sprintf("tree?up&metric=bytes&threshold=0&nodes=%d", 99_900+rng.IntN(100))
	}},
	{"table by call stack, another page of 200 rows", .02, .95, func(rng *rand.Rand) string {
		return fmt.Sprintf("top?by=stack&metric=bytes,allocations&limit=200&skip=%d", rng.IntN(5000))
	}},
	{"the same by another column, with a text", .02, .95, func(rng *rand.Rand) string {
		return fmt.Sprintf("top?by=line&metric=bytes,allocations&sort=allocations&limit=200&match=%c&skip=%d",
			'a'+rng.IntN(26), rng.IntN(1000))
	}},
}

// between returns the parameters of a random range.
func between(rng *rand.Rand) string {
	x, y := rng.Float64(), rng.Float64()
	return "&" + url.Values{"from": {percent(min(x, y))}, "to": {percent(max(x, y))}}.Encode()
}

func percent(share float64) string { return fmt.Sprintf("%.4f%%", 100*share) }

// uiMeasured is how a recording answered.
type uiMeasured struct {
	name    string
	listens float64     // s
	memory  float64     // the server's largest resident set, bytes
	walls   [][]float64 // of each cell, s
	sizes   []float64   // of each cell's largest answer, bytes as JSON
}

// askUI measures recordings and writes the section.
func (b *bench) askUI(out string, files []string) error {
	if len(files) == 0 {
		return errors.New("-ui needs recordings as arguments")
	}
	var all []*uiMeasured
	for _, file := range files {
		m, err := b.measureUI(file)
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	return writeSection(out, uiHeading, uiSection(all))
}

// measureUI starts a server for a recording and asks it everything.
func (b *bench) measureUI(file string) (*uiMeasured, error) {
	m := &uiMeasured{name: filepath.Base(file)}
	s, err := b.startServer(file)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	m.listens = s.listens
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cells {
		var walls []float64
		size := 0.
		if err := s.warm(c.query(rng)); err != nil { // its first answer may have to decode events, or await the atlas
			return nil, fmt.Errorf("%s, %s: %w", m.name, c.name, err)
		}
		for range uiRounds {
			began := time.Now()
			text, err := s.get(c.query(rng))
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", m.name, c.name, err)
			}
			walls, size = append(walls, time.Since(began).Seconds()), max(size, float64(len(text)))
		}
		m.walls, m.sizes = append(m.walls, walls), append(m.sizes, size)
		fmt.Fprintf(os.Stderr, "%-20s %-40s %7.1f ms, 95th percentile %7.1f ms\n", m.name, c.name, median(walls)*1e3,
			quantile(walls, .95)*1e3)
	}
	m.memory = s.stop()
	return m, nil
}

// server is a running heaptap serve.
type server struct {
	cmd       *exec.Cmd
	in        io.Closer
	base      string // the address of the recording's questions
	token     string
	listens   float64
	collected bool
}

// startServer starts heaptap serve, and exchanges its code for a token as the app does.
func (b *bench) startServer(file string) (*server, error) {
	cmd := exec.Command(b.heaptap, "serve", "--read-only", file)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, in: in}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	found := regexp.MustCompile(`(http://\S+/)#code=(\w+)`).FindStringSubmatch(line)
	if found == nil {
		s.stop()
		return nil, fmt.Errorf("heaptap serve printed no address but %q (%w)\n%s", line, err, &problems)
	}
	address, err := url.Parse(found[1])
	if err == nil {
		var connection net.Conn
		if connection, err = net.Dial("tcp", address.Host); err == nil {
			s.listens = time.Since(began).Seconds()
			err = connection.Close()
		}
	}
	if err == nil {
		err = s.enter(found[1], found[2])
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// enter redeems the code and finds the recording.
func (s *server) enter(address, code string) error {
	body := fmt.Sprintf(`{"code":%q}`, code)
	response, err := http.Post(address+"auth", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var given struct{ Token string }
	if err := json.NewDecoder(response.Body).Decode(&given); err != nil || given.Token == "" {
		return fmt.Errorf("no token for the code: status %s (%w)", response.Status, err)
	}
	s.token, s.base = given.Token, address+"api/v1/"
	text, err := s.get("session")
	if err != nil {
		return err
	}
	var session struct {
		Answer struct {
			Runs struct {
				Columns struct {
					Matters struct{ Text json.Number }
				}
			}
		}
		Texts []string
	}
	if err := json.Unmarshal(text, &session); err != nil {
		return fmt.Errorf("the session: %w", err)
	}
	i, err := session.Answer.Runs.Columns.Matters.Text.Int64()
	if err != nil || i < 0 || int(i) >= len(session.Texts) {
		return errors.New("the session does not say which recording matters")
	}
	s.base += "r/" + session.Texts[i] + "/"
	return nil
}

// get returns an answer; of one in lines, the last line.
func (s *server) get(path string) ([]byte, error) {
	request, err := http.NewRequest(http.MethodGet, s.base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	if response.StatusCode != http.StatusOK || bytes.HasPrefix(text, []byte(`{"error"`)) {
		return nil, fmt.Errorf("%s: status %s: %.300s", path, response.Status, text)
	}
	return text, nil
}

// warm asks a question until it is answered, and not for want of an atlas that is still being made.
func (s *server) warm(path string) error {
	for {
		_, err := s.get(path)
		if err == nil || !strings.Contains(err.Error(), `"not-ready"`) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stop ends the server, once, and returns its largest resident set.
func (s *server) stop() (memory float64) {
	if s.collected {
		return 0
	}
	s.collected = true
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.in.Close()
	_ = s.cmd.Wait() // its status is that of an interrupted program
	if u, ok := s.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) * 1024
	}
	return 0
}

// uiSection returns the section that bench-ui writes.
func uiSection(all []*uiMeasured) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nWritten by `make bench-ui`: questions to `heaptap serve` over HTTP, %d times each after "+
		"the first, about random ranges. Wall time in ms, with encoding, compression and transfer. Machine: %s. "+
		"In bold: worse than its goal.\n\n"+
		"| question | goal |", uiHeading, uiRounds, machine())
	rule := "|---|--:|"
	for _, m := range all {
		fmt.Fprintf(&b, " %s: median | 95th percentile | kB |", m.name)
		rule += "--:|--:|--:|"
	}
	b.WriteString("\n" + rule + "\n")
	number := func(s, goal float64) string {
		if s > goal {
			return fmt.Sprintf("**%.1f**", s*1e3)
		}
		return fmt.Sprintf("%.1f", s*1e3)
	}
	for i, c := range cells {
		at := "median"
		if c.quantile > .5 {
			at = fmt.Sprintf("%.0f %%", c.quantile*100)
		}
		fmt.Fprintf(&b, "| %s | %.0f (%s) |", c.name, c.goal*1e3, at)
		for _, m := range all {
			middle, late := median(m.walls[i]), quantile(m.walls[i], .95)
			goal := c.goal
			if c.quantile <= .5 {
				fmt.Fprintf(&b, " %s | %.1f |", number(middle, goal), late*1e3)
			} else {
				fmt.Fprintf(&b, " %.1f | %s |", middle*1e3, number(late, goal))
			}
			fmt.Fprintf(&b, " %.0f |", m.sizes[i]/1e3)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "| from the start to an open socket | %.0f |", listensIn*1e3)
	for _, m := range all {
		fmt.Fprintf(&b, " %s | | |", number(m.listens, listensIn))
	}
	b.WriteString("\n\nThe server's largest resident set:")
	var memory []string
	for _, m := range all {
		memory = append(memory, fmt.Sprintf("%s %.0f MB", m.name, m.memory/1e6))
	}
	return b.String() + " " + strings.Join(memory, ", ") + ".\n\n"
}

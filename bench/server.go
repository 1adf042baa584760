package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// server is a running heaptap serve.
type server struct {
	cmd       *exec.Cmd
	in        io.Closer
	base      string // the address of the recording's questions
	token     string
	listens   float64 // s from its start to the open socket
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
	if err := s.ask("session", &session); err != nil {
		return err
	}
	i, err := session.Answer.Runs.Columns.Matters.Text.Int64()
	if err != nil || i < 0 || int(i) >= len(session.Texts) {
		return errors.New("the session does not say which recording matters")
	}
	s.base += "r/" + session.Texts[i] + "/"
	return nil
}

// request asks a question. Its lines are in the body: progress, and the answer as the last one.
func (s *server) request(ctx context.Context, path, tab, lane string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	if lane != "" {
		request.Header.Set("X-Heaptap-Tab", tab)
		request.Header.Set("X-Heaptap-Lane", lane)
	}
	return http.DefaultClient.Do(request)
}

// get returns an answer, and after how many seconds its first line was there.
func (s *server) get(path string) (answer []byte, first float64, err error) {
	began := time.Now()
	response, err := s.request(context.Background(), path, "", "")
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if first == 0 {
			first = time.Since(began).Seconds()
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			answer = line
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if response.StatusCode != http.StatusOK || bytes.HasPrefix(answer, []byte(`{"error"`)) {
		return nil, 0, fmt.Errorf("%s: status %s: %.300s", path, response.Status, answer)
	}
	return answer, first, nil
}

// ask decodes what interests the caller of an answer.
func (s *server) ask(path string, answer any) error {
	text, _, err := s.get(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// warm asks a question until it is answered, and not for want of an atlas that is still being made.
func (s *server) warm(path string) error {
	for {
		_, _, err := s.get(path)
		if err == nil || !strings.Contains(err.Error(), `"not-ready"`) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Cancelling is seen from outside: the lane "background" has one worker, so that what is asked there next waits until
// the worker is free. The worker may have left others running; hence the CPU time.
const (
	backgroundLane = "background"
	quietFor       = 10 * time.Millisecond
	quietCPU       = quietFor / 4
)

// cancel asks a question, disconnects after a while, and returns how many seconds the server went on with it: until the
// lane's worker is free and the server uses little CPU time. ok is false if the answer came before.
func (s *server) cancel(path string, after time.Duration) (seconds float64, ok bool, err error) {
	ctx, disconnect := context.WithCancel(context.Background())
	defer disconnect()
	ended := make(chan error, 1)
	go func() {
		response, err := s.request(ctx, path, "bench-left", backgroundLane)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return 0, false, err
	case <-time.After(after):
	}
	disconnect()
	began := time.Now()
	if err := <-ended; err == nil {
		return 0, false, nil
	}
	response, err := s.request(context.Background(), "ps", "bench-next", backgroundLane)
	if err != nil {
		return 0, false, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if err != nil {
		return 0, false, err
	}
	for {
		at := time.Now()
		before, err := s.cpu()
		if err != nil {
			return 0, false, err
		}
		time.Sleep(quietFor)
		now, err := s.cpu()
		if err != nil {
			return 0, false, err
		}
		if now-before < quietCPU {
			return at.Sub(began).Seconds(), true, nil
		}
	}
}

// cpu returns the CPU time that the server has used.
func (s *server) cpu() (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED of the kernel: exact to the ns, and of a process by its id
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^s.cmd.Process.Pid<<3|scheduler), &t); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d: %w", s.cmd.Process.Pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// memory returns a line of /proc/PID/status, in bytes: VmRSS, what is resident; VmHWM, the most since forgetPeak.
func (s *server) memory(line string) (float64, error) {
	file := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^` + line + `:\s+(\d+) kB$`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("%s has no %s", file, line)
	}
	kB, err := strconv.ParseFloat(string(found[1]), 64)
	return kB * 1024, err
}

// forgetPeak makes VmHWM what is resident now.
func (s *server) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0)
}

// stop ends the server, once, and returns its largest resident set.
func (s *server) stop() (memory float64) {
	if s.collected {
		return 0
	}
	s.collected = true
	memory, _ = s.memory("VmHWM") // not of the rusage, which counts what was before exec, too
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	_ = s.in.Close()
	_ = s.cmd.Wait() // its status is that of an interrupted program
	return memory
}

package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

// server is a `heaptap serve` that ends with the test.
type server struct {
	address     string
	stdin       io.Writer
	invitations chan string // addresses with a code
}

// startServer starts a server for recordings in a folder.
func startServer(t *testing.T, dir string, files ...string) *server {
	t.Helper()
	cmd := exec.Command(kit.Binary(t), append([]string{"serve"}, files...)...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	s := &server{stdin: stdin, invitations: make(chan string)}
	go func() {
		defer close(s.invitations)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok && strings.Contains(rest, "#code=") {
				s.invitations <- "http://" + strings.Fields(rest)[0]
			}
		}
	}()
	return s
}

// invitation returns an address with a code that has not been used.
func (s *server) invitation(t *testing.T) string {
	t.Helper()
	if s.address != "" {
		if _, err := io.WriteString(s.stdin, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	invitation, ok := <-s.invitations
	if !ok {
		t.Fatal("heaptap serve ended")
	}
	s.address, _, _ = strings.Cut(invitation, "#")
	return invitation
}

// recordings returns the id of the recording that matters of each file.
func (s *server) recordings(t *testing.T) map[string]string {
	t.Helper()
	_, code, _ := strings.Cut(s.invitation(t), "#code=")
	request, err := http.NewRequest(http.MethodGet, s.address+"api/v1/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+redeem(t, s.address, code))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Texts  []string
		Answer struct {
			Runs struct{ Columns struct{ Run, Matters column } }
		}
	}
	for lines := json.NewDecoder(response.Body); len(answer.Texts) == 0; { // progress may come before it
		if err := lines.Decode(&answer); err != nil {
			t.Fatalf("%s: %v", response.Status, err)
		}
	}
	ids, columns := map[string]string{}, answer.Answer.Runs.Columns
	for i, run := range columns.Run.Text {
		ids[filepath.Base(answer.Texts[run])] = answer.Texts[columns.Matters.Text[i]]
	}
	return ids
}

// column is the texts of a column, by number.
type column struct{ Text numbers }

// numbers of a single row are one number.
type numbers []int

func (n *numbers) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		b = slices.Concat([]byte("["), b, []byte("]"))
	}
	return json.Unmarshal(b, (*[]int)(n))
}

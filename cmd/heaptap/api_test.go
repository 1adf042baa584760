package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/columns/columnstest"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/question"
	"github.com/heaptap/heaptap/tests/need"
)

// TestSameAnswers puts random questions to the API and to the command line: both give the same numbers, or an error.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	paths := apitest.Recordings(t)
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	a, err := api.New(t.Context(), api.Options{Finder: &input.Finder{}, Args: paths,
		Code: owncode.Rules{Folder: folder}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ids := apiRecordings(t, a)
	rng := rand.New(rand.NewPCG(1, 1))
	answered := 0
	for n := range 360 {
		i := n % len(paths)
		q := randomQuestion(rng)
		plain, failed := commandAnswer(q, paths[i])
		status, body := apiAnswer(a, q, ids[i])
		if (status == http.StatusOK) != (failed == nil) {
			t.Errorf("%s of %s: status %d %.300s, command: %v", q, paths[i], status, body, failed)
			continue
		}
		if failed != nil {
			continue
		}
		answered++
		want, got := columnstest.Objects(t, plain), columnstest.Decode(t, body)
		if q.name == "source" { // which has the file's text beside the numbers
			delete(got.(map[string]any), "text")
			delete(got.(map[string]any), "first") // the line that it begins with
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s of %s: command, API:\n%.3000s", q, paths[i], d)
		}
	}
	if answered < 200 {
		t.Errorf("only %d of 360 questions were answered", answered)
	}
}

// TestSameTimelines: the API says of the programs of a run what heaptap ps --timeline says.
func TestSameTimelines(t *testing.T) {
	t.Parallel()
	record := command(t, "heaptap", "run", "-q", "-o", "run.htap", "--", "sh", "-c", "ls; ls; true")
	if out, err := record.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(record.Dir, "run.htap")
	a, err := api.New(t.Context(), api.Options{Finder: &input.Finder{}, Args: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	id := apiRecordings(t, a)[0]
	q := &asking{name: "ps", values: url.Values{"timeline": {"true"}}}
	plain, err := commandAnswer(q, path)
	if err != nil {
		t.Fatal(err)
	}
	status, body := apiAnswer(a, q, id)
	if d := cmp.Diff(columnstest.Objects(t, plain), columnstest.Decode(t, body)); d != "" || status != http.StatusOK {
		t.Errorf("status %d; command, API:\n%.3000s", status, d)
	}
	if n := strings.Count(string(plain), `"live_bytes":[`); n < 3 {
		t.Errorf("%d programs have levels: %.1000s", n, plain)
	}
}

// asking is a question with its parameters.
type asking struct {
	name   string
	values url.Values
	place  string // in the source; the command takes it as an argument
}

func (q *asking) String() string { return q.name + "?" + q.values.Encode() }

// randomQuestion returns a question that the API and the command line understand.
func randomQuestion(rng *rand.Rand) *asking {
	names := []string{"report", "top", "top", "tree", "tree", "timeline", "rise", "hist", "threads", "leaks", "memory",
		"globals", "regions", "mismatches", "source", "ps", "blocks"}
	q := &asking{name: names[rng.IntN(len(names))], values: url.Values{}}
	known := api.Questions[slices.IndexFunc(api.Questions, func(k api.Question) bool { return k.Name == q.name })]
	one := func(list ...string) string { return list[rng.IntN(len(list))] }
	values := map[string]func() string{
		"from":      func() string { return one("10%", "start", "peak", "90%", "1us", "ready", "nomark") },
		"to":        func() string { return one("60%", "end", "peak", "1ms", "5%") },
		"thread":    func() string { return one("main", "worker*", "102", "4711", "nobody") },
		"freed-by":  func() string { return one("main", "worker*", "nobody") },
		"region":    func() string { return one("load", "parse", "load/1", "*") },
		"module":    func() string { return one("app", "libwork*", "server", "[") },
		"size":      func() string { return one("100..4k", "..16", "1k..", "64", "x") },
		"old-size":  func() string { return one("..64", "100..4k") },
		"lifetime":  func() string { return one("..1ms", "1us..", "10us..2s", "never") },
		"heat":      func() string { return one("time", "lifetime,reallocs", "size") },
		"focus":     func() string { return one("main", "parse|load", "libwork", "grow", "a(b") },
		"ignore":    func() string { return one("inner", "^load$", "img") },
		"hide":      func() string { return one("parse", "inner.h", ".") },
		"fold":      func() string { return "true" },
		"by":        func() string { return one(query.Groupings()...) },
		"self":      func() string { return "true" },
		"up":        func() string { return "true" },
		"of":        func() string { return one("parse", "grow", "nothing", "inner|main") },
		"threshold": func() string { return one("0", "0.5%", "5%", "20%") },
		"depth":     func() string { return one("0", "2", "5") },
		"top":       func() string { return one("1", "3", "10") },
		"steps":     func() string { return one("1", "7", "50") },
		"runtime":   func() string { return "true" },
		"timeline":  func() string { return "true" },
		"nodes":     func() string { return one("1", "10", "50") },
		"below":     func() string { return one("main", "parse", "load", "nothing") },
		"reverse":   func() string { return "true" },
		"match":     func() string { return one("a", "PARSE", "/^[lm]/", "libwork", "/(/") },
		"skip":      func() string { return one("1", "3", "1000") },
		"limit":     func() string { return one("0", "1", "5", "100") },
	}
	for _, name := range known.Parameters {
		if of := values[name]; of != nil && rng.IntN(8) == 0 {
			q.values.Set(name, of())
			if slices.Contains([]string{"focus", "ignore", "hide"}, name) && rng.IntN(2) == 0 {
				q.values.Add(name, of())
			}
		}
	}
	if slices.Contains(known.Parameters, "metric") && rng.IntN(2) == 0 {
		metrics := question.MetricNames(query.Metrics())
		rng.Shuffle(len(metrics), func(i, j int) { metrics[i], metrics[j] = metrics[j], metrics[i] })
		q.values["metric"] = []string{strings.Join(metrics[:1+rng.IntN(3)], ",")}
		if strings.Contains(q.values.Get("metric"), "live") && q.name != "timeline" {
			q.values.Set("at", one("50%", "end", "peak", "start"))
		}
	}
	switch {
	case q.name == "regions" && rng.IntN(2) == 0:
		q.values.Set("sort", one(query.RegionOrders()...))
	case q.name == "top" && rng.IntN(4) == 0:
		q.values.Set("sort", one("name", "name", "peak"))
	case q.name == "blocks" && rng.IntN(3) == 0: // --block alone
		q.values = url.Values{"block": {one("0", "7", "#12", "99999999", "x")}}
	case q.name == "blocks" && rng.IntN(2) == 0:
		q.values.Set("sort", one(query.BlockOrders()...))
		q.values.Set("at", one("50%", "end", "start"))
	case q.name == "memory" && rng.IntN(2) == 0:
		q.values.Set("at", one("50%", "end", "start"))
	case q.name == "timeline" && (q.values.Has("by") || q.values.Has("metric")):
		q.values.Set("top", "2")
	case q.name == "report": // of which --json has all call stacks without it
		q.values.Set("top", one("0", "1", "5"))
	case q.name == "source":
		q.place = one("parse", "grow", "inner", "main", "walk", "nothing")
	}
	return q
}

// commandAnswer runs the command with --json.
func commandAnswer(q *asking, path string) ([]byte, error) {
	args := []string{q.name, "--json"}
	for name, list := range q.values {
		for _, v := range list {
			args = append(args, "--"+name+"="+v)
		}
	}
	args = append(args, path)
	if q.place != "" {
		args = append(args, q.place)
	}
	var out bytes.Buffer
	root := newRootCommand(allCommands)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	_, err := root.ExecuteC()
	return out.Bytes(), err
}

// apiAnswer asks the API.
func apiAnswer(a http.Handler, q *asking, id string) (status int, last []byte) {
	if q.place != "" {
		q.values.Set("function", q.place)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/r/"+id+"/"+q.String(), nil))
	lines := bytes.Split(bytes.TrimSuffix(w.Body.Bytes(), []byte("\n")), []byte("\n"))
	last, status = lines[len(lines)-1], w.Code
	if bytes.HasPrefix(last, []byte(`{"error":`)) { // of an answer that took long
		status = max(status, http.StatusBadRequest)
	}
	return status, last
}

// apiRecordings returns the ids of the recordings that matter, by run.
func apiRecordings(t *testing.T, a http.Handler) (ids []string) {
	t.Helper()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/session", nil))
	lines := bytes.Split(bytes.TrimSpace(w.Body.Bytes()), []byte("\n")) // progress may come before the answer
	b, err := json.Marshal(columnstest.Decode(t, lines[len(lines)-1]))
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Runs []struct{ Matters string } }
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(fmt.Errorf("%w: %s", err, b))
	}
	for _, r := range s.Runs {
		ids = append(ids, r.Matters)
	}
	return ids
}

// TestCurlExamples executes the commands of docs/api-http.md, as they are written, against heaptap serve.
func TestCurlExamples(t *testing.T) {
	t.Parallel()
	need.Tool(t, "curl")
	need.Tool(t, "jq")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "api-http.md"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, "", "serve")
	found := s.expect(s.out, invitation)
	status, token := s.redeem(found[1], found[2])
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	script := "set -e\n"
	for _, b := range blocks {
		script += b[1]
	}
	if n := strings.Count(script, "\ncurl "); n < 8 {
		t.Fatalf("%d examples", n)
	}
	cmd := exec.Command("bash", "-o", "pipefail", "-c", strings.ReplaceAll(script, "\ncurl ", "\necho; curl "))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HEAPTAP="+found[1], "TOKEN="+token)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil || problems.Len() > 0 {
		t.Fatalf("%v %s\n%s", err, &problems, out)
	}
	for _, want := range []string{`"format_version":2`, `"shape":"bottom-up"`, `"lacks":`, "the cache grows"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %s:\n%.3000s", want, out)
		}
	}
}

package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/columns/columnstest"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/source"
)

// serve returns an API of recordings.
func serve(t testing.TB, o api.Options) *api.API {
	t.Helper()
	o.Version, o.Finder = "1.2.3", &input.Finder{}
	a, err := api.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	a.Patient()
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// get asks for a path below /api/v1/, with headers NAME: VALUE.
func get(a http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/"+path, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// session is what tests need of the answer about the session.
type session struct {
	Runs []struct {
		Matters    string
		Recordings []struct{ ID string }
	}
}

// ids returns the ids of the recordings that matter, by run.
func ids(t testing.TB, a http.Handler) (list []string) {
	t.Helper()
	var s session
	decode(t, get(a, "session").Body.Bytes(), &s)
	for _, r := range s.Runs {
		list = append(list, r.Matters)
	}
	return list
}

// decode decodes an answer in columns.
func decode(t testing.TB, body []byte, to any) {
	t.Helper()
	b, err := json.Marshal(columnstest.Decode(t, lastLine(body)))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// lastLine returns the last line of an answer: all of it, unless it took long.
func lastLine(body []byte) []byte {
	lines := strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
	return []byte(lines[len(lines)-1])
}

// all returns an API of all recordings of apitest, and their ids.
func all(t *testing.T) (*api.API, []string) {
	t.Helper()
	a := serve(t, api.Options{Args: apitest.Recordings(t)})
	return a, ids(t, a)
}

// TestSession: every recording is there, and what it can answer once it was asked.
func TestSession(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	if len(list) != 6 {
		t.Fatalf("%d recordings", len(list))
	}
	type about struct {
		Addresses, Sampled, Folded, Merged, Growing bool
		Lacks                                       []struct{ What, Why, Flag string }
	}
	for i, want := range []struct {
		about
		flags string // those that provide what is missing
	}{
		{about{}, "--addresses --free-stacks"},
		{about{Addresses: true}, "--free-stacks"},
		{about{}, "--addresses --free-stacks"},
		{about{Sampled: true}, "--mode exact --mode exact --addresses --free-stacks"},
		{about{Merged: true}, ""},
		{about{Folded: true}, "--keep, --max-size --addresses --free-stacks"},
	} {
		var got about
		decode(t, get(a, "r/"+list[i]+"/about").Body.Bytes(), &got)
		var flags []string
		for _, l := range got.Lacks {
			if l.What == "" || l.Why == "" {
				t.Errorf("recording %d lacks %q because %q", i, l.What, l.Why)
			}
			if l.Flag != "" {
				flags = append(flags, l.Flag)
			}
		}
		got.Lacks = nil
		if fmt.Sprint(got) != fmt.Sprint(want.about) || strings.Join(flags, " ") != want.flags {
			t.Errorf("recording %d: %v, flags %q; want %v, %q", i, got, flags, want.about, want.flags)
		}
	}
	if again := ids(t, a); fmt.Sprint(again) != fmt.Sprint(list) {
		t.Errorf("ids have changed: %v, %v", list, again)
	}
}

// failure is an error as the API sends it.
type failure struct {
	Error, What, Where, Do string
	Position               *int
	Nearest                *struct {
		BeforeNS int64 `json:"before_ns"`
		AfterNS  int64 `json:"after_ns"`
		FromNS   int64 `json:"from_ns"`
	}
}

// TestErrors: an error says what is wrong, where, and what to do.
func TestErrors(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	server, merged, folded := list[0], list[4], list[5]
	for _, c := range []struct {
		path, want string // status, code, where
		part       string // of the text
		position   int
	}{
		{"r/" + server + "/top?focus=a(b", "400 bad-parameter focus", "missing closing )", 0},
		{"r/" + server + "/top?focus=abc[z-a]", "400 bad-parameter focus", "invalid character class range", 4},
		{"r/" + server + "/tree?of=%5Cp{x}", "400 bad-parameter of", "", 0},
		{"r/" + server + "/top?size=x", "400 bad-parameter size", "", -1},
		{"r/" + server + "/top?from=90%25&to=10%25", "400 bad-parameter from", "is later than", -1},
		{"r/" + server + "/top?from=nomark", "400 bad-parameter from", "nomark", -1},
		{"r/" + server + "/top?thread=nobody", "400 bad-parameter thread", "nobody", -1},
		{"r/" + server + "/top?by=functoin", "400 bad-parameter by", "did you mean function?", -1},
		{"r/" + server + "/top?metric=peek", "400 bad-parameter metric", "did you mean peak?", -1},
		{"r/" + server + "/top?limit=-1", "400 bad-parameter limit", "from 0 to 10000", -1},
		{"r/" + server + "/top?limit=10001", "400 bad-parameter limit", "from 0 to 10000", -1},
		{"r/" + server + "/top?limit=1&limit=2", "400 bad-parameter limit", "more than once", -1},
		{"r/" + server + "/top?focsu=x", "400 bad-parameter focsu", "did you mean focus?", -1},
		{"r/" + server + "/top?a=%zz", "400 bad-parameter ", "cannot be read", -1},
		{"r/" + server + "/top?focus=" + strings.Repeat("x", 20_000), "400 bad-parameter ", "longer than", -1},
		{"r/" + server + "/tree?threshold=200", "400 bad-parameter threshold", "", -1},
		{"r/" + server + "/tree?up&of=x", "400 bad-parameter of", "excludes", -1},
		{"r/" + server + "/tree?below=nothing", "404 unknown-place below", "nothing", -1},
		{"r/" + server + "/top?sort=x", "400 bad-parameter sort", "", -1},
		{"r/" + server + "/top?match=/a(b/", "400 bad-parameter match", "", -1},
		{"r/" + server + "/regions?sort=higest", "400 bad-parameter sort", "did you mean highest?", -1},
		{"r/" + server + "/timeline?steps=10000&top=1000", "400 bad-parameter steps", "more than", -1},
		{"r/" + server + "/source", "400 bad-parameter file", "one of file and function", -1},
		{"r/" + server + "/source?file=1000", "404 unknown-file file", "", -1},
		{"r/" + server + "/source?function=nothing", "404 unknown-place function", "", -1},
		{"r/" + server + "/tpo", "404 unknown-question question", "did you mean top?", -1},
		{"r/" + server[:7] + "x/top", "404 unknown-recording recording", "", -1},
		{"r/" + strings.Repeat("y", 5000) + "/top", "404 unknown-recording recording", "", -1},
		{"r/" + server, "404 unknown-path ", "", -1},
		{"nothing", "404 unknown-path ", "", -1},
		{"session?x=1", "400 bad-parameter ", "", -1},
		{"r/" + merged + "/top?size=1..", "409 merged ", "sums of 2 recordings", -1},
		{"r/" + folded + "/top?from=10%25&metric=leaked", "409 folded from", "folded", -1},
		{"r/" + folded + "/source?file=0&from=10%25&metric=leaked", "409 folded from", "folded", -1},
	} {
		w := get(a, c.path)
		var e failure
		if err := json.Unmarshal(lastLine(w.Body.Bytes()), &e); err != nil {
			t.Errorf("%.60s: %v: %.100s", c.path, err, w.Body)
			continue
		}
		got := fmt.Sprintf("%d %s %s", w.Code, e.Error, e.Where)
		if got != c.want || !strings.Contains(e.What, c.part) || e.What == "" {
			t.Errorf("%.60s: %s: %s; want %s: ... %s ...", c.path, got, e.What, c.want, c.part)
		}
		if at := e.Position; c.position < 0 != (at == nil) || at != nil && *at != c.position {
			t.Errorf("%.60s: position %v, want %d", c.path, at, c.position)
		}
		if w.Code == http.StatusConflict && e.Error == "folded" {
			if n := e.Nearest; n == nil || n.BeforeNS > n.AfterNS || n.AfterNS > n.FromNS || n.FromNS == 0 {
				t.Errorf("%s: nearest %+v", c.path, n)
			}
		}
	}
}

// TestMethods: only GET and HEAD read.
func TestMethods(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "x"} {
		for _, path := range []string{"/api/v1/session", "/api/v1/r/" + list[0] + "/top"} {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/api/v1/r/"+list[0]+"/top", nil))
	if w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("ETag") == "" {
		t.Errorf("HEAD: %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
	}
}

// TestTags: an answer that the client has is not sent again; another question, recording or version has another tag.
func TestTags(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	first := get(a, "r/"+list[0]+"/top?by=line&focus=.")
	tag := first.Header().Get("ETag")
	if first.Code != http.StatusOK || len(tag) < 10 {
		t.Fatalf("%d, tag %q", first.Code, tag)
	}
	path := "r/" + list[0] + "/top?focus=.&by=line"
	for _, same := range []string{path, path + "&hide="} {
		for _, header := range []string{tag, `"x", W/` + tag, "*"} {
			w := get(a, same, "If-None-Match: "+header)
			if w.Code != http.StatusNotModified || w.Body.Len() > 0 || w.Header().Get("ETag") != tag {
				t.Errorf("%s, %s: %d, %d bytes", same, header, w.Code, w.Body.Len())
			}
		}
		w := get(a, same, `If-None-Match: "other"`)
		if w.Code != http.StatusOK || w.Body.String() != first.Body.String() {
			t.Errorf("%s: %d, %d bytes", same, w.Code, w.Body.Len())
		}
	}
	for _, other := range []string{"r/" + list[0] + "/top?by=line", "r/" + list[1] + "/top?by=line&focus=.",
		"r/" + list[0] + "/leaks?focus=."} {
		if w := get(a, other, "If-None-Match: "+tag); w.Code != http.StatusOK || w.Header().Get("ETag") == tag {
			t.Errorf("%s: %d, tag %s", other, w.Code, w.Header().Get("ETag"))
		}
	}
	// These depend on more than the recording.
	for _, changing := range []string{"session", "r/" + list[0] + "/ps", "r/" + list[0] + "/source?file=0"} {
		w := get(a, changing)
		if w.Code != http.StatusOK || w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", changing, w.Code, w.Header())
		}
	}
}

// number is a number of an answer: as text if it is larger than 2^53, and pruned to null if it is 0.
type number uint64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = 0
		return nil
	}
	v, err := strconv.ParseUint(strings.Trim(string(b), `"`), 10, 64)
	*n = number(v)
	return err
}

// TestProcess: whatever the steps, exact or rough, the timeline of the process has its true peak.
func TestProcess(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	asked := 0
	for _, id := range list {
		var report struct{ Peak struct{ Bytes number } }
		if w := get(a, "r/"+id+"/report?top=0"); w.Code != http.StatusOK {
			continue // calls were only counted
		} else {
			decode(t, w.Body.Bytes(), &report)
		}
		for _, query := range []string{"", "?steps=1", "?steps=7&rough=pixel"} {
			w := get(a, "r/"+id+"/process"+query)
			if w.Code == http.StatusConflict {
				continue // its events are gone
			}
			var x struct {
				Most   []number `json:"most_live_bytes"`
				Fewest []number `json:"fewest_live_bytes"`
			}
			decode(t, lastLine(w.Body.Bytes()), &x)
			most, fewest := slices.Max(append(x.Most, 0)), slices.Max(append(x.Fewest, 0)) // lists of zeros are pruned
			if w.Code != http.StatusOK || most != report.Peak.Bytes || fewest > most {
				t.Errorf("%s%s: %d, most %d, fewest %d, the peak is %d", id, query, w.Code, most, fewest,
					report.Peak.Bytes)
			}
			asked++
		}
	}
	if asked < 9 {
		t.Errorf("only %d timelines", asked)
	}
}

// TestCompression: a client gets what it reads.
func TestCompression(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	server := httptest.NewServer(a)
	defer server.Close()
	path := server.URL + "/api/v1/r/" + list[0] + "/report"
	var bodies []string
	for _, encoding := range []string{"", "gzip", "br, gzip;q=0.5", "GZIP; Q=1.0", "gzip;q=0.001", "identity",
		"gzip;q=0", "gzip;q=0.0", "gzip;q=0.", "gzip; q=0.000", "gzip ;Q = 0.00", "gzip;q=00", "br, gzip;a=b;q=0e5",
		"gzip;q=-0", "gzip;q=nan", "gzip;q=x", "gzip;q="} {
		r, err := http.NewRequest(http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DisableCompression: true}
		if encoding == "" {
			transport.DisableCompression = false // it asks for gzip, and expands it
		} else {
			r.Header.Set("Accept-Encoding", encoding)
		}
		resp, err := (&http.Client{Transport: transport}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		transport.CloseIdleConnections()
		if err != nil {
			t.Fatal(err)
		}
		zipped := resp.Header.Get("Content-Encoding") == "gzip"
		accepted := []string{"gzip", "br, gzip;q=0.5", "GZIP; Q=1.0", "gzip;q=0.001"}
		if want := slices.Contains(accepted, encoding); zipped != want {
			t.Errorf("%q: gzip is %v", encoding, zipped)
		}
		if !zipped {
			bodies = append(bodies, strings.TrimSuffix(string(body), "\n"))
		}
	}
	for _, b := range bodies {
		if b != bodies[0] || !strings.HasPrefix(b, `{"answer":`) {
			t.Errorf("%.60s, and not %.60s", b, bodies[0])
		}
	}
}

// TestNoSource: with it, no source text is read; without, only files of the recording's own list, by number.
func TestNoSource(t *testing.T) {
	t.Parallel()
	paths := apitest.Recordings(t)[:2]
	a := serve(t, api.Options{Args: paths, NoSource: true})
	w := get(a, "r/"+ids(t, a)[1]+"/source?file=0")
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "--no-source") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	a = serve(t, api.Options{Args: paths})
	id := ids(t, a)[1]
	var files struct{ Files []string }
	decode(t, get(a, "r/"+id+"/files").Body.Bytes(), &files)
	if fmt.Sprint(files.Files) != "[/srv/app.c /srv/inner.h]" {
		t.Errorf("files %v", files.Files)
	}
	for _, place := range []string{"file=0", "file=1", "function=parse"} {
		if w := get(a, "r/"+id+"/source?"+place); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", place, w.Code, w.Body)
		}
	}
	var lines struct {
		First json.Number
		Calls []struct{ Function string }
	}
	decode(t, get(a, "r/"+id+"/source?file=0&calls&line=1&context=2&limit=1").Body.Bytes(), &lines)
	if lines.First != "1" {
		t.Errorf("the text begins with line %s", lines.First)
	}
	decode(t, get(a, "r/"+id+"/source?file=0&calls").Body.Bytes(), &lines)
	if len(lines.Calls) == 0 {
		t.Error("no line calls anything")
	}
	for _, place := range []string{"../../etc/passwd", "/etc/passwd", "/proc/self/environ", "/dev/zero"} {
		if w := get(a, "r/"+id+"/source?function="+url.QueryEscape(place)); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", place, w.Code, w.Body)
		}
	}
}

// TestSourceFlags: the text of files that the recording names elsewhere is found where the server was told to look, and
// nothing that leads out of there. A client cannot say where to look.
func TestSourceFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	text := "one\ntwo\n"
	if err := errors.Join(os.Mkdir(src, 0o755), os.WriteFile(filepath.Join(dir, "secret"), []byte("secret\n"), 0o644),
		os.WriteFile(filepath.Join(src, "inner.h"), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	link := func(name, to string) string {
		folder := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(folder, 0o755), os.Symlink(to, filepath.Join(folder, "inner.h"))); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	fifo := filepath.Join(dir, "fifo")
	if err := errors.Join(os.Mkdir(fifo, 0o755), unix.Mkfifo(filepath.Join(fifo, "inner.h"), 0o644)); err != nil {
		t.Fatal(err)
	}
	path := apitest.Recordings(t)[1] // of /srv/app.c and /srv/inner.h
	ask := func(finder source.Finder, more string) *httptest.ResponseRecorder {
		a := serve(t, api.Options{Args: []string{path}, Source: finder})
		return get(a, "r/"+ids(t, a)[0]+"/source?file=1"+more)
	}
	for _, c := range []struct {
		name   string
		finder source.Finder
		found  bool
	}{
		{"nothing", source.Finder{}, false},
		{"--source-path", source.Finder{Paths: []string{src}}, true},
		{"--source-map", source.Finder{Maps: []source.Map{{From: "/srv", To: src}}}, true},
		{"another --source-map", source.Finder{Maps: []source.Map{{From: "/src", To: src}}}, false},
		{"a link out of it", source.Finder{Paths: []string{link("up", "../secret")}}, false},
		{"an absolute link out of it", source.Finder{Paths: []string{link("away", filepath.Join(dir, "secret"))}},
			false},
		{"a link to /proc", source.Finder{Paths: []string{link("proc", "/proc/self/environ")}}, false},
		{"a link to a device", source.Finder{Maps: []source.Map{{From: "/srv", To: link("zero", "/dev/zero")}}}, false},
		{"a FIFO", source.Finder{Paths: []string{fifo}}, false},
		{"/proc", source.Finder{Maps: []source.Map{{From: "/srv/inner.h", To: "/proc/self/environ"}}}, false},
		{"a device", source.Finder{Maps: []source.Map{{From: "/srv/inner.h", To: "/dev/zero"}}}, false},
	} {
		w := ask(c.finder, "")
		var got struct {
			Text  []string
			Pages []struct{ Note string }
		}
		decode(t, w.Body.Bytes(), &got)
		want := ""
		if c.found {
			want = "one two"
		}
		if w.Code != http.StatusOK || strings.Join(got.Text, " ") != want {
			t.Errorf("%s: %d, text %q, want %q", c.name, w.Code, got.Text, want)
		}
		if len(got.Pages) != 1 || !c.found && !strings.Contains(got.Pages[0].Note, "--source-path") {
			t.Errorf("%s: %+v", c.name, got.Pages)
		}
	}
	for _, name := range []string{"source-path", "source_path", "path", "source-map"} {
		w := ask(source.Finder{}, "&"+name+"="+url.QueryEscape(src))
		var e failure
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusBadRequest || e.Where != name {
			t.Errorf("%s from a client: %d %s", name, w.Code, w.Body)
		}
	}
}

// values are metrics as they come.
type values map[string]json.Number

func (v values) of(metric string) int64 {
	n, _ := v[metric].Int64() // 0 is pruned
	return n
}

// TestChange: what changed between two moments is what was live at one minus what was live at the other; the largest
// changes come first, and what is not listed has not changed.
func TestChange(t *testing.T) {
	t.Parallel()
	a, list := all(t)
	type group = map[string]any
	asked := 0
	for _, id := range list[:3] {
		for _, c := range []struct{ by, from, to, metric string }{
			{"function", "10%", "70%", "live"}, {"line", "start", "50%", "live"}, {"function", "30%", "30%", "live"},
			{"module", "50%", "end", "live-blocks"}, {"stack", "20%", "60%", "live"},
		} {
			live := func(at string) map[string]int64 {
				var top struct {
					Rows []struct {
						Group group
						Total values
					}
				}
				path := "r/" + id + "/top?limit=0&by=" + c.by + "&metric=" + c.metric + "&at=" + url.QueryEscape(at)
				decode(t, get(a, path).Body.Bytes(), &top)
				m := map[string]int64{}
				for _, r := range top.Rows {
					m[fmt.Sprint(r.Group)] = r.Total.of(c.metric)
				}
				return m
			}
			w := get(a, "r/"+id+"/change?limit=0&by="+c.by+"&metric="+c.metric+"&from="+url.QueryEscape(c.from)+"&to="+
				url.QueryEscape(c.to))
			var x struct {
				Before values `json:"total_before"`
				Total  values
				Rows   []struct {
					Group         group
					Status        string
					Before, After values
				}
			}
			decode(t, w.Body.Bytes(), &x)
			if w.Code != http.StatusOK {
				t.Fatalf("%+v: %d %s", c, w.Code, w.Body)
			}
			last, sum := int64(math.MaxInt64), int64(0)
			var before, after map[string]int64
			if c.by != "stack" { // frames have other numbers in each answer
				before, after = live(c.from), live(c.to)
			}
			for _, r := range x.Rows {
				name := fmt.Sprint(r.Group)
				from, to := r.Before.of(c.metric), r.After.of(c.metric)
				if c.by != "stack" && (from != before[name] || to != after[name]) {
					t.Errorf("%+v: %s from %d to %d, want from %d to %d", c, name, from, to, before[name], after[name])
				}
				status := "grown"
				switch {
				case from == 0:
					status = "new"
				case to == 0:
					status = "gone"
				case to < from:
					status = "shrunk"
				}
				change := max(to-from, from-to)
				if change == 0 || change > last || r.Status != status {
					t.Errorf("%+v: %s is %q, changed from %d to %d, after a change by %d", c, name, r.Status, from, to,
						last)
				}
				last, sum = change, sum+to-from
				delete(before, name)
				delete(after, name)
				asked++
			}
			if total := x.Total.of(c.metric) - x.Before.of(c.metric); c.by == "stack" && sum != total {
				t.Errorf("%+v: the rows change by %d, the whole by %d", c, sum, total)
			}
			for name := range after {
				if before[name] != after[name] {
					t.Errorf("%+v: %s is not listed", c, name)
				}
			}
		}
	}
	if asked < 50 {
		t.Errorf("only %d rows", asked)
	}
}

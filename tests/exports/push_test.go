package exports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// duration is a profile's, ns.
func (p *raw) duration(t *testing.T) int64 {
	t.Helper()
	span := 0.
	if m := regexp.MustCompile(`(?m)^Duration: ([0-9.]+)`).FindStringSubmatch(p.text); m != nil {
		var err error
		if span, err = strconv.ParseFloat(m[1], 64); err != nil {
			t.Fatal(err)
		}
	}
	return int64(span * 1e9)
}

// sumOf is the sum of a type of values; false if the profile does not have it.
func (p *raw) sumOf(typ string) (uint64, bool) {
	i := slices.Index(p.types, typ)
	if i < 0 {
		return 0, false
	}
	return p.sums[i], true
}

// rawOf has go tool pprof read what a server got.
func rawOf(t *testing.T, profile []byte) *raw {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(path, profile, 0o666); err != nil {
		t.Fatal(err)
	}
	return pprofRaw(t, path)
}

// pyroscope is a server that speaks the JSON form of push.v1.PusherService, by its public definition.
type pyroscope struct {
	mu     sync.Mutex
	calls  int
	refuse func(w http.ResponseWriter, call int) bool
	header http.Header
	got    []struct {
		labels  map[string]string
		id      string
		profile []byte
	}
	wrong []string
}

func (s *pyroscope) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.header = r.Header
	var request struct {
		Series []struct {
			Labels []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"labels"`
			Samples []struct {
				RawProfile []byte `json:"rawProfile"`
				ID         string `json:"ID"`
			} `json:"samples"`
		} `json:"series"`
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&request)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/push.v1.PusherService/Push" ||
		r.Header.Get("Content-Type") != "application/json" ||
		len(request.Series) != 1 || len(request.Series[0].Samples) != 1 {
		s.wrong = append(s.wrong, fmt.Sprintf("%s %s %v %v", r.Method, r.URL, r.Header, err))
	}
	if s.refuse != nil && s.refuse(w, s.calls) {
		return
	}
	for _, series := range request.Series {
		labels := map[string]string{}
		for _, l := range series.Labels {
			labels[l.Name] = l.Value
		}
		for _, one := range series.Samples {
			s.got = append(s.got, struct {
				labels  map[string]string
				id      string
				profile []byte
			}{labels, one.ID, one.RawProfile})
		}
	}
	_, _ = io.WriteString(w, "{}")
}

// serve starts the server.
func (s *pyroscope) serve(t *testing.T) string {
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		for _, w := range s.wrong {
			t.Error(w)
		}
	})
	return server.URL
}

// TestPushPyroscope pushes whole recordings.
func TestPushPyroscope(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		s := &pyroscope{}
		url := s.serve(t)
		command(t, "push", "--pyroscope", url, "--label", "env=test", "--label", "pid=", "--header",
			"X-Scope-OrgID=team", path)
		if name == "empty" {
			if len(s.got) != 0 {
				t.Errorf("%d profiles of nothing", len(s.got))
			}
			return
		}
		if len(s.got) != 1 || s.header.Get("X-Scope-Orgid") != "team" {
			t.Fatalf("%d profiles, %v", len(s.got), s.header)
		}
		got := s.got[0]
		if l := got.labels; l["__name__"] != "memory" || l["__delta__"] != "false" || l["service_name"] == "" ||
			l["env"] != "test" || l["pid"] != "" {
			t.Errorf("labels %v", l)
		}
		want, r := totals(t, path), rawOf(t, got.profile)
		for i, typ := range r.types {
			if n := want[metricOf[typ]]; r.sums[i] != n {
				t.Errorf("%s: %d, expected %d", typ, r.sums[i], n)
			}
		}
		uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		if !uuid.MatchString(got.id) {
			t.Errorf("id %s", got.id)
		}
		command(t, "push", "--pyroscope", url, path)
		if s.got[1].id != got.id {
			t.Error("the same profile has two ids")
		}
	})
}

// TestPushSlices holds that slices add up to the whole, and have what was live at their ends.
func TestPushSlices(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sqlite", "four", "torture"} {
		path := list[name]
		lines := strings.Split(strings.TrimSpace(read(t, exported(t, "csv:timeline", path))), "\n")
		last, _, _ := strings.Cut(lines[len(lines)-1], ",")
		end, err := strconv.ParseInt(last, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := &pyroscope{}
		every := end/7 + 1
		command(t, "push", "--pyroscope", s.serve(t), "--every", fmt.Sprintf("%dns", every), path)
		want := totals(t, path)
		sums := map[string]uint64{}
		for _, one := range s.got {
			r := rawOf(t, one.profile)
			for i, typ := range r.types {
				sums[typ] += r.sums[i]
			}
		}
		for _, typ := range []string{"alloc_objects", "alloc_space", "leaked_space", "leaked_objects",
			"temporary_objects", "temporary_space"} {
			if sums[typ] != want[metricOf[typ]] {
				t.Errorf("%s: %s %d, expected %d", name, typ, sums[typ], want[metricOf[typ]])
			}
		}
		if n, _ := rawOf(t, s.got[len(s.got)-1].profile).sumOf("inuse_space"); n != want["live"] {
			t.Errorf("%s: %d live at the end, expected %d", name, n, want["live"])
		}
		if len(s.got) < 2 || len(s.got) > 8 { // those in which a busy machine let nothing happen are left out
			t.Errorf("%s: %d slices", name, len(s.got))
		}
	}
}

// TestPyroscopeMerges rebuilds how Pyroscope aggregates, by its documentation: a flame graph of a range of time adds up
// all profiles that begin in it, whatever they are of; a series adds up or averages those of each step. So docs/push.md
// says which queries show what was live: a range of one slice, the average by slice, and over any range what was never
// freed.
func TestPyroscopeMerges(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["sqlite"]
	lines := strings.Split(strings.TrimSpace(read(t, exported(t, "csv:timeline", path))), "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], ",")
	end, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s := &pyroscope{}
	every := end/8 + 1
	command(t, "push", "--pyroscope", s.serve(t), "--every", fmt.Sprintf("%dns", every), path)
	begin := pprofRaw(t, exported(t, "pprof", path)).begin(t)
	merged := map[string]uint64{} // a flame graph of all
	highest := uint64(0)
	for _, one := range s.got {
		r := rawOf(t, one.profile)
		for k, typ := range r.types {
			merged[typ] += r.sums[k]
		}
		// A flame graph of this slice; also the average of the series, by steps of a slice. Slices in which nothing was
		// allocated are left out, so a profile says when it begins.
		inuse, _ := r.sumOf("inuse_space")
		at := fmt.Sprintf("%dns", min(r.begin(t).Sub(begin).Nanoseconds()+every, end))
		want := pprofRaw(t, exported(t, "pprof", path, "--metric", "live", "--at", at))
		if inuse != want.sums[0] {
			t.Errorf("%d in use in a slice, live at its end, %s, are %d", inuse, at, want.sums[0])
		}
		highest = max(highest, inuse)
	}
	if len(s.got) < 2 || merged["inuse_space"] <= highest {
		t.Errorf("%d slices have %d in use in sum, one has %d: no slice differs", len(s.got),
			merged["inuse_space"], highest)
	}
	if n := totals(t, path)["leaked"]; merged["leaked_space"] != n {
		t.Errorf("%d were never freed, expected %d", merged["leaked_space"], n)
	}
}

// TestPushRetries has a server refuse for a while, and for good.
func TestPushRetries(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	passing := &pyroscope{refuse: func(w http.ResponseWriter, call int) bool {
		if call < 3 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
		}
		return call < 3
	}}
	out, err := exec.Command(heaptap, "push", "--pyroscope", passing.serve(t), list["one"]).CombinedOutput()
	if err != nil || passing.calls != 3 || strings.Count(string(out),
		"503 Service Unavailable: starting; trying again in") != 2 {
		t.Errorf("%v, %d calls: %s", err, passing.calls, out)
	}
	lasting := &pyroscope{refuse: func(w http.ResponseWriter, _ int) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"code":"invalid_argument","message":"profile is too old"}`)
		return true
	}}
	out, err = exec.Command(heaptap, "push", "--pyroscope", lasting.serve(t), list["one"]).CombinedOutput()
	if err == nil || lasting.calls != 1 || !strings.Contains(string(out), "400 Bad Request: ") ||
		!strings.Contains(string(out), "profile is too old") {
		t.Errorf("%v, %d calls: %s", err, lasting.calls, out)
	}
}

// grpcServers starts the servers of the judges, whose first call fails, and returns the addresses of the collector and
// of the other one, and what they have got.
func grpcServers(t *testing.T) (collector, other string, got func() [][]byte) {
	t.Helper()
	addresses, got := servers(t, theJudges(t), "serve")
	return addresses[0], addresses[1], got
}

// servers starts a program that prints addresses at which it listens and puts what it gets into a folder, its last
// argument. It returns the addresses, and a function that reads what it has got.
func servers(t *testing.T, program string, args ...string) (addresses []string, got func() [][]byte) {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command(program, append(args, folder)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(line), func() (list [][]byte) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(folder, "*"))
		slices.Sort(files)
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, b)
		}
		return list
	}
}

// pushAgain pushes to a server whose first call fails.
func pushAgain(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(heaptap, append([]string{"push"}, args...)...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "UNAVAILABLE: not yet; trying again in") {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestPushParca pushes to a server of Google's gRPC, and has protoc decode what came by Parca's public definition.
func TestPushParca(t *testing.T) {
	protoc := need.Tool(t, "protoc")
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	want := totals(t, path)
	_, address, got := grpcServers(t)
	pushAgain(t, "--parca", address, "--label", "env=test", path)
	messages := got()
	if len(messages) != 1 {
		t.Fatalf("%d messages", len(messages))
	}
	cmd := exec.Command(protoc, "--decode=parca.profilestore.v1alpha1.WriteRawRequest", "-I", "testdata", "parca.proto")
	cmd.Stdin = bytes.NewReader(messages[0])
	decoded, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, decoded)
	}
	text := string(decoded)
	for _, label := range []string{"__name__", "memory", "service_name", "four", "env", "test"} {
		if !strings.Contains(text, `"`+label+`"`) {
			t.Errorf("no %s among the labels", label)
		}
	}
	if regexp.MustCompile(`(?m)^ *\d+:`).MatchString(text) {
		t.Error("a field that Parca does not know")
	}
	profiles := rawProfiles(t, text)
	if len(profiles) != 2 {
		t.Fatalf("%d profiles", len(profiles))
	}
	sums, levels := rawOf(t, profiles[0]), rawOf(t, profiles[1])
	if sums.duration(t) <= 0 {
		t.Error("sums have no duration")
	}
	if span := levels.duration(t); span != 0 {
		t.Errorf("levels have a duration of %d ns", span)
	}
	if fmt.Sprint(levels.types) != "[inuse_objects inuse_space peak_objects peak_space]" {
		t.Errorf("levels are %v", levels.types)
	}
	for _, p := range []*raw{sums, levels} {
		for i, typ := range p.types {
			if p.sums[i] != want[metricOf[typ]] {
				t.Errorf("%s: %d, expected %d", typ, p.sums[i], want[metricOf[typ]])
			}
		}
	}
}

// parcaSeries is what the judge says of what Parca keeps.
type parcaSeries struct {
	Labels     map[string]string
	Name, Type string
	Duration   int64
	Sum        uint64
}

// TestParcaKeeps has Parca's own code take every recording: the sums of its rows are those of the report, also by
// thread and by size, where each thread and size is a series.
func TestParcaKeeps(t *testing.T) {
	parca := built(t, buildParca)
	each(t, func(t *testing.T, name, path string) {
		if name == "empty" {
			return // nothing is sent
		}
		want := totals(t, path)
		for _, by := range []string{"", "thread", "size", "allocator"} {
			_, address, got := grpcServers(t)
			args := []string{"--parca", address, path}
			if by != "" {
				args = append(args, "--by", by)
			}
			pushAgain(t, args...)
			file := filepath.Join(t.TempDir(), "message")
			if err := os.WriteFile(file, got()[0], 0o666); err != nil {
				t.Fatal(err)
			}
			var list []parcaSeries
			decode(t, tool(t, parca, file), &list)
			sums, groups := map[string]uint64{}, map[string]bool{}
			for _, s := range list {
				if sums[s.Type] += s.Sum; s.Name != "memory" || s.Labels["service_name"] == "" ||
					(s.Labels[by] == "") != (by == "") {
					t.Errorf("by %q: %v", by, s)
				}
				groups[s.Labels[by]] = true
			}
			for typ, metric := range metricOf {
				if sums[typ] != want[metric] {
					t.Errorf("by %q: %s: %d, expected %d", by, typ, sums[typ], want[metric])
				}
			}
			if n := len(groups); name == "four" && by != "" &&
				n < map[string]int{"thread": 4, "size": 3, "allocator": 2}[by] {
				t.Errorf("by %s: only %d series: %v", by, n, groups)
			}
		}
	})
}

// rawProfiles are the bytes of raw_profile in protoc's text.
func rawProfiles(t *testing.T, text string) (list [][]byte) {
	t.Helper()
	for _, m := range regexp.MustCompile(`raw_profile: "((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(text, -1) {
		var b []byte
		for s := strings.ReplaceAll(m[1], `\'`, `'`); s != ""; {
			c, _, rest, err := strconv.UnquoteChar(s, '"')
			if err != nil {
				t.Fatal(err)
			}
			b, s = append(b, byte(c)), rest
		}
		list = append(list, b)
	}
	return list
}

// TestPushOTLP pushes to the collector's own service, over gRPC and HTTP.
func TestPushOTLP(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	want := totals(t, path)
	check := func(t *testing.T, message []byte) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "message")
		if err := os.WriteFile(file, message, 0o666); err != nil {
			t.Fatal(err)
		}
		p := judge[otlpProfiles](t, "otlp", file)[0]
		if p.Resource["service.name"] != "another" || p.Resource["env"] != "test" ||
			len(p.Profiles) != len(otlpMetrics) {
			t.Errorf("%d profiles of %v", len(p.Profiles), p.Resource)
		}
		for _, left := range []string{"host.arch", "process.pid", "process.command_args"} {
			if v, has := p.Resource[left]; has {
				t.Errorf("%s is %v, though it was to be left out", left, v)
			}
		}
		for _, one := range p.Profiles {
			if one.Sum != want[otlpMetrics[one.Type]] {
				t.Errorf("%s: %d", one.Type, one.Sum)
			}
		}
	}
	labels := []string{"--label", "service.name=another", "--label", "env=before", "--label", "env=test", "--label",
		"host.arch=", "--label", "process.pid=", "--label", "process.command_args=", path}
	t.Run("grpc", func(t *testing.T) {
		address, _, got := grpcServers(t)
		pushAgain(t, append([]string{"--otlp", address}, labels...)...)
		if len(got()) != 1 {
			t.Fatalf("%d messages", len(got()))
		}
		check(t, got()[0])
		for label, says := range map[string]string{"refuse=all": "INVALID_ARGUMENT: refused: 100 % of it really",
			"refuse=partly": "INVALID_ARGUMENT: 2 profiles were rejected: two are too many"} {
			out, err := exec.Command(heaptap, "push", "--otlp", address, "--label", label, path).CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) || strings.Count(string(out), "\n") != 1 {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	t.Run("http", func(t *testing.T) {
		var body []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1development/profiles" || r.Header.Get("Content-Type") != "application/x-protobuf" {
				http.NotFound(w, r)
				return
			}
			body, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/x-protobuf")
		}))
		defer server.Close()
		command(t, append([]string{"push", "--otlp", server.URL}, labels...)...)
		check(t, body)
		out, err := exec.Command(heaptap, "push", "--retry", "0", "--otlp", strings.TrimPrefix(server.URL, "http://"),
			path).CombinedOutput() // gRPC
		if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), server.URL) {
			t.Errorf("%v: %s", err, out)
		}
	})
}

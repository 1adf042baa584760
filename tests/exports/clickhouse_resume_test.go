package exports

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// between is a server between heaptap and ClickHouse. answer gets the number of each insert of rows, from 1, and may
// answer itself instead of having it done, or after.
func (s *clickhouse) between(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int64,
	do http.HandlerFunc)) string {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	var inserts atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Query().Get("query"), "INSERT") {
			answer(w, r, inserts.Add(1), proxy.ServeHTTP)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestClickHouseResumes interrupts a push, pushes again, and holds that every row is there once.
func TestClickHouseResumes(t *testing.T) {
	s := theClickHouse(t)
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	want := totals(t, path)
	check := func(t *testing.T, database string) {
		t.Helper()
		s.checkSums(t, database, "", want)
		s.checkQueries(t, database, path, want)
	}
	t.Run("killed", func(t *testing.T) {
		var cmd *exec.Cmd
		reached := make(chan bool)
		server := s.between(t, func(w http.ResponseWriter, r *http.Request, n int64, do http.HandlerFunc) {
			if n == 3 {
				_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection reported
				close(reached)
				<-r.Context().Done()
				return
			}
			do(w, r)
		})
		cmd = exec.Command(heaptap, "push", "--clickhouse", server+"/killed", "--events", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-reached
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err == nil {
			t.Error("Ctrl-C did not end it")
		}
		if n := s.one(t, "killed", "SELECT count(*) FROM recordings"); n != 0 {
			t.Errorf("%d recordings are whole", n)
		}
		command(t, "push", "--clickhouse", s.url+"/killed", "--events", path)
		check(t, "killed")
	})
	t.Run("answers are lost", func(t *testing.T) {
		server := s.between(t, func(w http.ResponseWriter, r *http.Request, n int64, do http.HandlerFunc) {
			if n%2 == 1 {
				do(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler) // the connection breaks
			}
			do(w, r)
		})
		out, err := exec.Command(heaptap, "push", "--clickhouse", server+"/lost", "--events", path).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "trying again in") {
			t.Fatalf("%v: %s", err, out)
		}
		check(t, "lost")
	})
	t.Run("a batch came in part", func(t *testing.T) {
		command(t, "push", "--clickhouse", s.url+"/whole", "--events", path)
		command(t, "push", "--clickhouse", s.url+"/part", "--events", list["empty"]) // makes the tables
		for _, table := range []string{"stacks", "events"} {
			s.do(t, "part", "INSERT INTO "+table+" SELECT * FROM whole."+table+" WHERE seq < 10", nil)
		}
		command(t, "push", "--clickhouse", s.url+"/part", "--events", path)
		for _, table := range []string{"stacks", "frames", "timeline", "events"} {
			count := "SELECT count(*) FROM " + table + " WHERE program = 'four'"
			if a, b := s.one(t, "whole", count), s.one(t, "part", count); a != b {
				t.Errorf("%s: %d rows of %d", table, b, a)
			}
		}
	})
	t.Run("busy", func(t *testing.T) {
		server := s.between(t, func(w http.ResponseWriter, r *http.Request, n int64, do http.HandlerFunc) {
			if n == 1 {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "Code: 252, e.displayText() = DB::Exception: Too many parts (300). Merges are "+
					"processing significantly slower than inserts, e.what() = DB::Exception",
					http.StatusInternalServerError)
				return
			}
			do(w, r)
		})
		out, err := exec.Command(heaptap, "push", "--clickhouse", server+"/busy", path).CombinedOutput()
		if err != nil || !strings.Contains(string(out),
			"Too many parts (300). Merges are processing significantly slower than inserts; trying again in") {
			t.Fatalf("%v: %s", err, out)
		}
		s.checkSums(t, "busy", "", want)
	})
}

// TestClickHouseRefuses has the server refuse.
func TestClickHouseRefuses(t *testing.T) {
	s := theClickHouse(t)
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.url, "http://")
	s.do(t, "default", "CREATE DATABASE other", nil)
	s.do(t, "default", "CREATE TABLE other.stacks (a UInt8) ENGINE = Memory", nil)
	for _, c := range []struct{ server, says string }{
		{"http://writer:wrong@" + host, "wrong user or password (set them in the URL, or in CLICKHOUSE_USER and " +
			"CLICKHOUSE_PASSWORD): Wrong password for user writer"},
		{"http://reader:secret@" + host + "/elsewhere",
			"cannot create table elsewhere.recordings: http://" + host + ": the user lacks the permission: "},
		{s.url + "/other", "the server says: "},
		{s.url + "/other/stacks", "is not a database name"},
		{"http://127.0.0.1:1", "http://127.0.0.1:1: connect: connection refused"},
	} {
		out, err := exec.Command(heaptap, "push", "--retry", "0", "--clickhouse", c.server,
			list["one"]).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) || strings.Count(string(out), "\n") != 1 ||
			strings.Contains(string(out), "secret") {
			t.Errorf("%s: %v: %s", c.server, err, out)
		}
	}
	command(t, "push", "--clickhouse", "http://writer:se%2Fcret%3A1@"+host+"/with_password", list["one"])
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/elfx"
)

// TestDebuginfod: the debug information of a stripped program comes from the user's server. Without one, no server is
// asked.
func TestDebuginfod(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	do := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	source := "#include <stdlib.h>\n__attribute__((noinline)) static void *take(size_t n)\n{\n\treturn " +
		"malloc(n);\n}\nint main(void)\n{\n\tfree(take(1000));\n\treturn 0;\n}\n"
	if err := os.WriteFile(dir+"/p.c", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	do("gcc", "-g", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1", "-o", "p", "p.c")
	f, err := elfx.Open(dir + "/p")
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprintf("%x", f.BuildID())
	f.Close()
	do("objcopy", "--only-keep-debug", "p", "elsewhere")
	do("strip", "p")

	var asked, given atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/buildid/"+id+"/debuginfo" {
			given.Add(1)
			http.ServeFile(w, r, dir+"/elsewhere")
			return
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	record := func(out string, env ...string) string {
		t.Helper()
		cmd := command(t, "heaptap", "run", "-q", "-o", filepath.Join(dir, out), "--", dir+"/p")
		cmd.Env = append(append(cmd.Env, "DEBUGINFOD_CACHE_PATH="+dir+"/cache"), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := command(t, "heaptap", "dump", "--stacks", filepath.Join(dir, out)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(text)
	}
	if text := record("without.htap", "DEBUGINFOD_URLS="); strings.Contains(text, "take") || asked.Load() != 0 {
		t.Errorf("without servers %d questions were asked, and this is known:\n%s", asked.Load(), text)
	}
	for i := range 2 { // the second time it is there
		if text := record(fmt.Sprintf("with%d.htap", i), "DEBUGINFOD_URLS="+server.URL); !strings.Contains(text,
			"take") || !strings.Contains(text, "p.c:4") {
			t.Errorf("run %d:\n%s", i, text)
		}
	}
	if given.Load() != 1 {
		t.Errorf("it was downloaded %d times", given.Load())
	}
}

// TestImpatience: Ctrl-C ends the wait for a download. The recording is still completed.
func TestImpatience(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "p")
	if err := os.WriteFile(program+".c", []byte("#include <stdlib.h>\nint main(void) { return malloc(7) == 0; }\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-s", "-O0", "-fno-builtin", "-Wl,--build-id=sha1", "-o", program,
		program+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	asked, release := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		http.NotFound(w, r)
	}))
	defer server.Close()
	cmd := command(t, "heaptap", "run", "-o", program+".htap", "--", program)
	cmd.Env = append(cmd.Env, "DEBUGINFOD_URLS="+server.URL, "DEBUGINFOD_CACHE_PATH="+dir+"/cache")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("the server is not asked")
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if text := stderr.String(); err != nil || !strings.Contains(text, "not waiting any longer") ||
		strings.Contains(text, "recording complete") {
		t.Errorf("%v\n%s", err, text)
	}
	verified := func() string {
		text, _ := command(t, "heaptap", "verify", program+".htap").CombinedOutput()
		return string(text)
	}
	if text := verified(); !strings.Contains(text, "ok, incomplete") {
		t.Errorf("before the server has answered: %s", text)
	}
	close(release)
	text := ""
	for range 600 {
		if text = verified(); strings.Contains(text, "ok") && !strings.Contains(text, "incomplete") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("the recording is not completed: %s", text)
}

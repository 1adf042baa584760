package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// variant is a way to run a workload.
type variant struct {
	name  string
	rival bool // measured on a tenth of synthetic work, and less often
	// start returns the command that runs cpu (the whole measuring command without the variables of the target) and
	// what is to be waited for after it; out is a fresh folder for what the variant records.
	start func(b *bench, cpu []string, target []string, out string) (*exec.Cmd, func() error, error)
}

func direct(vars ...string) func(*bench, []string, []string, string) (*exec.Cmd, func() error, error) {
	return func(_ *bench, cpu, target []string, _ string) (*exec.Cmd, func() error, error) {
		args := append(append(append(append([]string(nil), cpu...), vars...), "--"), target...)
		return exec.Command(args[0], args[1:]...), nil, nil
	}
}

// variants returns those that this machine can run.
func (b *bench) variants(rivals bool) (all []variant, missing []string) {
	all = []variant{
		{name: "bare", start: direct()},
		{name: "shim", start: direct("LD_PRELOAD=" + b.shim)},
		{name: "heaptap", start: func(b *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
			args := append([]string{"run", "-q", "-o", out + "/", "--"}, cpu...)
			args = append(append(args, "--"), target...)
			return exec.Command(b.heaptap, args...), nil, nil
		}},
	}
	if !rivals {
		return all, nil
	}
	lib := glob("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/*/heaptrack/libheaptrack_preload.so")
	interpret := glob("/usr/lib/heaptrack/libexec/heaptrack_interpret", "/usr/lib/*/heaptrack/libexec/heaptrack_interpret")
	if lib == "" || interpret == "" {
		return all, []string{"heaptrack (Debian: apt install heaptrack)"}
	}
	zip := "gzip -c"
	if _, err := exec.LookPath("zstd"); err == nil {
		zip = "zstd -c"
	}
	all = append(all,
		variant{name: "heaptrack", rival: true, start: heaptrack(lib, interpret+` <"$1" | `+zip+` >"$2"`)},
		variant{name: "heaptrack -r", rival: true, start: heaptrack(lib, zip+` <"$1" >"$2"`)})
	return all, nil
}

// heaptrack does what Debian's script /usr/bin/heaptrack does: a named pipe from the preloaded library to a pipeline.
func heaptrack(lib, pipeline string) func(*bench, []string, []string, string) (*exec.Cmd, func() error, error) {
	return func(_ *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
		fifo := filepath.Join(out, "fifo")
		if err := unix.Mkfifo(fifo, 0o600); err != nil {
			return nil, nil, fmt.Errorf("making the named pipe %s: %w", fifo, err)
		}
		reader := exec.Command("sh", "-c", pipeline, "sh", fifo, filepath.Join(out, "data"))
		var stderr strings.Builder
		reader.Stderr = &stderr
		if err := reader.Start(); err != nil {
			return nil, nil, err
		}
		args := append(append([]string(nil), cpu...), "LD_PRELOAD="+lib, "DUMP_HEAPTRACK_OUTPUT="+fifo, "--")
		args = append(args, target...)
		finish := func() error {
			// If the target never opened the pipe, the reader still waits for it.
			if f, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
			if err := reader.Wait(); err != nil {
				return fmt.Errorf("heaptrack's interpreter: %w: %s", err, stderr.String())
			}
			return os.Remove(fifo)
		}
		return exec.Command(args[0], args[1:]...), finish, nil
	}
}

func glob(patterns ...string) string {
	for _, p := range patterns {
		if m, _ := filepath.Glob(p); len(m) > 0 {
			return m[0]
		}
	}
	return ""
}

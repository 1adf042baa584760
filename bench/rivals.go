package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// rivals returns the profilers whose cost is comparable to heaptap's.
func (b *bench) rivals() (all []variant, missing []string) {
	lib := glob("/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/*/heaptrack/libheaptrack_preload.so")
	interpret := glob("/usr/lib/heaptrack/libexec/heaptrack_interpret",
		"/usr/lib/*/heaptrack/libexec/heaptrack_interpret")
	if lib == "" || interpret == "" {
		missing = append(missing, "heaptrack (Debian: apt install heaptrack)")
	} else {
		zip := "gzip -c"
		if _, err := exec.LookPath("zstd"); err == nil {
			zip = "zstd -c"
		}
		all = append(all,
			variant{name: heaptrackName, what: heaptrackVersion() +
				", with its interpreter and compressor: `heaptrack PROGRAM`", class: rival, tenth: true, rarely: true,
				start: heaptrack(lib, interpret+` <"$1" | `+zip+` >"$2"`)},
			variant{name: heaptrackRaw, what: "the same without the interpreter", class: rival, tenth: true,
				rarely: true, start: heaptrack(lib, zip+` <"$1" >"$2"`)})
	}
	more, none := b.jemalloc(19, true)
	return append(all, more...), append(missing, none...)
}

// heaptrackVersion returns heaptrack's name and version.
func heaptrackVersion() string {
	out, err := exec.Command("heaptrack", "--version").Output()
	if err != nil {
		return "of unknown version"
	}
	return strings.TrimSpace(string(out))
}

// slowRivals returns the profilers that slow down a program that only allocates more than ten times.
func (b *bench) slowRivals() (all []variant, missing []string) {
	all, missing = b.jemalloc(0, false)
	if lib := glob("/usr/lib/*/libtcmalloc.so.4"); lib == "" {
		missing = append(missing, "gperftools (Debian: apt install libgoogle-perftools4)")
	} else {
		all = append(all,
			variant{name: "tcmalloc", what: "gperftools' allocator, preloaded, without its profiler",
				start: direct("LD_PRELOAD=" + lib)},
			variant{name: "gperftools", what: "its heap profiler, `HEAPPROFILE=`; at most 32 frames a stack",
				class: rival, base: "tcmalloc",
				start: direct("LD_PRELOAD="+lib, "HEAPPROFILE={out}/data")})
	}
	if valgrind, err := exec.LookPath("valgrind"); err != nil {
		missing = append(missing, "DHAT (Debian: apt install valgrind)")
	} else {
		all = append(all, variant{name: "DHAT", what: "`valgrind --tool=dhat`; at most 12 frames a stack", class: rival,
			start: dhat(valgrind)})
	}
	return append(all, variant{name: "backtrace", what: "the shim with glibc's backtrace(3) at each allocation, " +
		"recording nothing", class: rival, start: direct("LD_PRELOAD=" + b.backtrace)}), missing
}

// jemalloc returns two variants of Debian's jemalloc: without its profiler, and with the profiler, which takes a sample
// every 2^lg bytes. The second is compared with the first.
func (b *bench) jemalloc(lg int, rarely bool) (all []variant, missing []string) {
	lib := glob("/usr/lib/*/libjemalloc.so.2")
	if lib == "" {
		return nil, []string{"jemalloc (Debian: apt install libjemalloc2)"}
	}
	preload := "LD_PRELOAD=" + lib
	prof := direct(preload,
		fmt.Sprintf("MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:%d,prof_prefix:{out}/data", lg))
	if err := b.try(prof); err != nil {
		return nil, []string{fmt.Sprintf("jemalloc's profiler (%s: %v)", lib, err)}
	}
	return []variant{
		{name: "jemalloc", what: "that allocator, preloaded, without its profiler", rarely: rarely,
			start: direct(preload)},
		{name: fmt.Sprintf("jemalloc, lg %d", lg),
			what: fmt.Sprintf("its profiler, `lg_prof_sample:%d`; at most 128 frames a stack", lg), class: rival,
			base: "jemalloc", rarely: rarely, start: prof},
	}, nil
}

// dhat runs the target in Valgrind, whose CPU time counts as the target's.
func dhat(valgrind string) start {
	return func(b *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
		return direct()(b, cpu, append([]string{valgrind, "-q", "--tool=dhat", "--dhat-out-file=" + filepath.Join(out,
			"data")}, target...), out)
	}
}

// heaptrack does the same as Debian's script /usr/bin/heaptrack: it connects the preloaded library to a pipeline by a
// named pipe.
func heaptrack(lib, pipeline string) start {
	return func(b *bench, cpu, target []string, out string) (*exec.Cmd, func() error, error) {
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
		finish := func() error {
			// If the target never opened the pipe, the reader is still waiting for that.
			if f, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
			}
			if err := reader.Wait(); err != nil {
				return fmt.Errorf("heaptrack's interpreter: %w: %s", err, stderr.String())
			}
			return os.Remove(fifo)
		}
		cmd, _, err := direct("LD_PRELOAD="+lib, "DUMP_HEAPTRACK_OUTPUT="+fifo)(b, cpu, target, out)
		return cmd, finish, err
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

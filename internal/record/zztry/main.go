package main

import (
	"runtime/pprof"

	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/record"
)

func main() {
	rep := func(r record.Report) {
		if r.Kind == record.Finished {
			fmt.Fprintf(os.Stderr, "FIN %s main=%v exe=%s err=%v allocs=%d frees=%d unm=%d inh=%d unseen=%d late=%d threads=%d leaked=%d peak=%d elapsed=%v health=%+v\n", r.Path, r.Main, r.Exe, r.Err,
				r.Totals.Allocations, r.Totals.Deallocations, r.Totals.Unmatched, r.Totals.Inherited, r.Totals.Unseen, r.Totals.Late, r.Threads, r.Totals.LiveBlocks, r.Totals.Peak.Bytes, r.Elapsed, r.Health)
		} else if r.Kind != record.Started {
			fmt.Fprintf(os.Stderr, "%+v\n", r)
		}
	}
	if os.Args[1] == "convert" {
		f, _ := os.Create("/tmp/rt/cpu.prof")
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
		t := time.Now()
		fmt.Println(record.ConvertWith(context.Background(), os.Args[2], record.Config{Output: os.Args[3], Report: rep}), time.Since(t))
		return
	}
	dir, _ := os.MkdirTemp("/dev/shm", "try")
	pid := make(chan int, 1)
	end := make(chan record.Status, 1)
	done := make(chan error)
	go func() {
		done <- record.Run(context.Background(), record.Config{RunDir: dir, Output: os.Args[1], SpillDir: os.Args[1], Main: pid, MainEnded: end, Report: rep})
	}()
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	so, _ := os.Getwd()
	_ = so
	cmd.Env = append(os.Environ(), "HEAPTAP_RUN="+dir, "HEAPTAP_SPILL_DIR="+os.Args[1], "LD_PRELOAD=/work/main/agent/lib/libheaptap.amd64.so")
	cmd.Stdout, cmd.Stderr, cmd.Stdin = os.Stdout, os.Stderr, os.Stdin
	t := time.Now()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	pid <- cmd.Process.Pid
	cmd.Wait()
	t1 := time.Since(t)
	end <- record.Status{Exited: true, Code: cmd.ProcessState.ExitCode()}
	err := <-done
	var ru syscall.Rusage
	syscall.Getrusage(0, &ru)
	fmt.Fprintln(os.Stderr, err, "target", t1, "complete", time.Since(t), "recorder cpu", ru.Utime, ru.Stime, "maxrss MB", ru.Maxrss>>10, "target cpu", cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime())
}

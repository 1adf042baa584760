package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/export/formats"
)

// The limits of a command on a file of a few thousand bytes, whatever is in it. CPU time does not depend on other work
// on the machine; a command that waits is noticed later.
const (
	tortureCPU    = 10 * time.Second
	tortureWait   = 3 * time.Minute
	tortureMemory = 2 << 30
	tortureBatch  = 100 // files for one process: the flags of all commands stay in memory
)

var (
	tortureAll = flag.Bool("torture", false,
		"try all damaged and forged files, as `make torture-inputs` does, not some of them")
	tortureTime = flag.Duration("torture-time", 0, "end after this time; 0: when all files were tried")
	tortureSeed = flag.Uint64("torture-seed", 1, "of the random changes")
	tortureKeep = flag.String("torture-keep", "", "keep the files of which something came that should not, in this "+
		"folder")
)

// TestTorture gives damaged and forged files to every command that reads files: whatever is in them, no command panics,
// hangs or takes too much memory, and verify accepts what repair writes.
//
// The commands run in processes of their own, many in each, as the command "torture" of this binary. When a process
// dies, the number of its file is reported, and another process continues after that file: `torture DIR SEED NUMBER`
// tries it again.
func TestTorture(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := makeTorture(t, dir)
	numbers := set.some()
	if *tortureAll {
		numbers = set.all()
	}
	workers := max(1, runtime.GOMAXPROCS(0))
	var done, failed atomic.Int64
	var deadline time.Time
	if *tortureTime > 0 {
		deadline = time.Now().Add(*tortureTime)
	}
	stop := make(chan struct{})
	var all, watch sync.WaitGroup
	for w := range workers {
		var mine []int
		for i := w; i < len(numbers); i += workers {
			mine = append(mine, numbers[i])
		}
		all.Go(func() {
			for len(mine) > 0 && failed.Load() < 20 {
				batch := mine[:min(len(mine), tortureBatch)]
				tried, report := tortureProcess(t, dir, w, batch, deadline, &done)
				if report != "" {
					failed.Add(1)
					t.Errorf("%s\n%s", set.keep(t, mine[tried-1]), report)
				} else if tried < len(batch) {
					return // out of time
				}
				mine = mine[tried:]
			}
		})
	}
	watch.Go(func() {
		for begin := time.Now(); *tortureAll; {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Second):
				fmt.Printf("%v: %d of %d files, %d failures\n", time.Since(begin).Round(time.Second), done.Load(),
					len(numbers), failed.Load())
			}
		}
	})
	all.Wait()
	close(stop)
	watch.Wait()
	t.Logf("%d of %d files, seed %d", done.Load(), len(numbers), *tortureSeed)
}

// tortureProcess has one process try files, by their numbers. It returns how many were tried, and a report if the last
// one failed.
func tortureProcess(t *testing.T, dir string, worker int, numbers []int, deadline time.Time,
	done *atomic.Int64) (tried int, report string) {
	var list strings.Builder
	for _, n := range numbers {
		fmt.Fprintln(&list, n)
	}
	cmd := command(t, "torture", dir, strconv.FormatUint(*tortureSeed, 10))
	cmd.Stdin = strings.NewReader(list.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1) // a byte for each file that was begun
	for {
		if _, err := out.Read(buf); err != nil {
			break
		}
		tried++
		done.Add(1)
		if !deadline.IsZero() && time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return tried, ""
		}
	}
	err = cmd.Wait()
	if err == nil {
		return len(numbers), ""
	}
	if tried == 0 {
		t.Fatalf("worker %d: %v\n%s", worker, err, &stderr)
	}
	text := stderr.String()
	if len(text) > 6000 {
		text = text[:4000] + "\n...\n" + text[len(text)-1500:]
	}
	return tried, fmt.Sprintf("%v\n%s", err, text)
}

// torture is the command that tries files, whose numbers are its arguments or on stdin.
func torture() {
	stderr := os.Stderr // tortureMain changes it
	if err := tortureMain(os.Args[1:]); err != nil {
		fmt.Fprintln(stderr, err)
		os.Exit(1)
	}
}

func tortureMain(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: torture DIR SEED [NUMBER...]")
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	set, err := loadTorture(args[0], seed)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(args[0], "work")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	debug.SetGCPercent(400) // commands are short, and leave little garbage
	debug.SetMemoryLimit(tortureMemory / 2)
	x := &torturer{dir: work, out: os.Stderr}
	progress := os.Stdout
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return err
	}
	os.Stderr = os.Stdout
	go x.watch()
	numbers := args[2:]
	if len(numbers) == 0 {
		list, err := os.ReadFile("/dev/stdin")
		if err != nil {
			return err
		}
		numbers = strings.Fields(string(list))
	}
	for _, text := range numbers {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if _, err := progress.Write([]byte{'.'}); err != nil {
			return err
		}
		if err := x.try(set.input(n)); err != nil {
			return err
		}
	}
	return nil
}

// torturer runs commands in this process.
type torturer struct {
	dir   string
	out   *os.File // for reports
	now   atomic.Pointer[string]
	began atomic.Int64 // the command: processor time, ns
	since atomic.Int64 // wall clock, ns
}

// watch ends the process when a command exceeds a limit.
func (x *torturer) watch() {
	for range time.Tick(20 * time.Millisecond) {
		name := x.now.Load()
		if name == nil {
			continue
		}
		var what string
		if cpu, wall := processorTime()-x.began.Load(), time.Now().UnixNano()-x.since.Load(); cpu > int64(tortureCPU) ||
			wall > int64(tortureWait) {
			what = fmt.Sprintf("%v of processor time in %v", time.Duration(cpu), time.Duration(wall))
		} else if rss := resident(); rss > tortureMemory {
			what = fmt.Sprintf("%d MiB of memory", rss>>20)
		}
		if what != "" && x.now.Load() == name {
			fmt.Fprintf(x.out, "heaptap %s: takes %s\n", *name, what)
			_ = pprof.Lookup("goroutine").WriteTo(x.out, 1)
			os.Exit(3)
		}
	}
}

func processorTime() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func resident() int64 {
	b, _ := os.ReadFile("/proc/self/statm")
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// run runs a command and returns its status.
func (x *torturer) run(args ...string) int {
	name := strings.Join(args, " ")
	x.began.Store(processorTime())
	x.since.Store(time.Now().UnixNano())
	x.now.Store(&name)
	defer x.now.Store(nil)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(x.out, "heaptap %s:\n", name)
			panic(p)
		}
	}()
	return executeRoot(newRootCommand(commandNamed()[args[0]]), args)
}

// commandNamed has the constructor of each command, by name: making all commands with their flags takes longer than
// most commands run.
var commandNamed = sync.OnceValue(func() map[string][]func() *cobra.Command {
	named := map[string][]func() *cobra.Command{}
	for _, c := range allCommands {
		named[c().Name()] = []func() *cobra.Command{c}
	}
	return named
})

// try runs all commands with a file.
func (x *torturer) try(in tortureInput) error {
	for name, b := range in.files {
		if err := os.WriteFile(filepath.Join(x.dir, name), b, 0o600); err != nil {
			return err
		}
	}
	file := filepath.Join(x.dir, in.main)
	out := filepath.Join(x.dir, "out")
	for _, c := range in.commands {
		args := strings.Fields(c)
		for i, a := range args {
			switch a {
			case "FILE":
				args[i] = file
			case "GOOD":
				args[i] = in.good
			case "OUT":
				args[i] = out
			}
		}
		x.run(args...)
		if args[0] == "repair" {
			if _, err := os.Stat(out); err == nil && x.run("verify", out) != 0 {
				cmd := exec.Command("/proc/self/exe", "verify", out)
				cmd.Args[0] = "heaptap"
				text, _ := cmd.CombinedOutput()
				return fmt.Errorf("verify rejects what repair wrote:\n%s", text)
			}
		}
		_ = os.Remove(out)
	}
	if resident() > tortureMemory/4 {
		debug.FreeOSMemory() // the garbage of one command must not count for the next one
	}
	return nil
}

//go:embed testdata/commands.txt
var commandsText string

// recordingCommands are the commands that read recordings.
var recordingCommands = func() []string {
	var list []string
	for line := range strings.Lines(commandsText) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.Contains(line, "FORMAT"):
			for _, f := range formats.All {
				list = append(list, strings.Replace(line, "FORMAT", f.Name, 1))
				for _, v := range f.Variants[min(1, len(f.Variants)):] {
					list = append(list, strings.Replace(line, "FORMAT", f.Name+":"+v.Name, 1))
				}
			}
		default:
			list = append(list, line)
		}
	}
	return list
}()

// otherCommands read files that are converted to recordings first.
var otherCommands = []string{"report FILE", "top --json FILE", "dump FILE", "merge -o OUT GOOD FILE"}

// importCommands are for other tools' files.
var importCommands = []string{"import -o OUT FILE", "report FILE"}

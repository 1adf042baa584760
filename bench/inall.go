package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What recording costs in all: the target and everything that works beside it, as the user's machine sees it.

const inAllHeading = "## In all: the target and everything beside it"

// used is what a run used.
type used struct {
	cpu    float64 // s, of the target and all other processes
	wall   float64 // s, until the command returned
	failed string  // why there is no result
}

// place is a number of processors on which runs are measured.
type place struct {
	name string
	one  bool // all processes of a run share a single one
}

var places = []place{{"", false}, {", one core", true}}

// onOne has a function, and the processes that it starts, run on one processor.
func onOne(do func() error) error {
	runtime.LockOSThread() // processes inherit from the thread that starts them
	defer runtime.UnlockOSThread()
	var before, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("reading the affinity: %w", err)
	}
	for i := range 1024 {
		if before.IsSet(i) {
			first.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &first); err != nil {
		return fmt.Errorf("setting the affinity: %w", err)
	}
	return errors.Join(do(), unix.SchedSetaffinity(0, &before))
}

// runInAll runs a program in a variant, without a measuring command in between, so many times. The recordings are left
// in out.
func (b *bench) runInAll(w *workload, dir string, v *variant, repeats int, out string) (u used, err error) {
	before, start := children(), time.Now()
	for i := range repeats {
		each := filepath.Join(out, fmt.Sprint(i))
		if err := os.Mkdir(each, 0o755); err != nil {
			return u, err
		}
		cmd, finish, err := v.start(b, nil, w.args, each)
		if err != nil {
			return u, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		late := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(unix.SIGTERM) })
		var stderr bytes.Buffer
		cmd.Dir, cmd.Stderr = cmp.Or(dir, each), &stderr
		cmd.Env = append(append(os.Environ(), w.env...), cmd.Env...)
		cmd.Stdin = strings.NewReader(w.stdin)
		runErr := cmd.Start()
		if runErr == nil {
			runErr = cmd.Wait()
		}
		late()
		cancel()
		if finish != nil {
			runErr = errors.Join(runErr, finish())
		}
		if runErr != nil {
			if v.class != rival {
				return u, fmt.Errorf("%w: %s", runErr, bytes.TrimSpace(stderr.Bytes()))
			}
			fmt.Fprintf(os.Stderr, "%s, %s: %v: %s\n", w.name, v.name, runErr, bytes.TrimSpace(stderr.Bytes()))
			u.failed = "crashes"
		}
	}
	u.wall = time.Since(start).Seconds()
	err = reapOrphans(30 * time.Second)
	u.cpu = children() - before
	return u, err
}

// inAll holds all runs.
type inAll struct {
	programs []workload
	tasks    []*task
	missing  []string
	runs     map[string]map[string][]used // by program and by variant and place
	variants []variant
	bytes    map[string]float64   // of the recordings, per event
	prompts  map[string][]float64 // s, from the program's end until the command returned
	idle     []float64            // share of a processor that a run with an idle program takes
	counter  string               // ns that the counter takes
	scale    float64              // of the programs' inputs
}

// inAllReps is how often each program runs. With heaptrack's interpreter, which takes several times as long, only the
// one runs for which there is a goal, once.
const inAllReps = 3

const interpretedName = "python"

// askInAll measures everything of the section.
func (b *bench) askInAll(all []workload, match func(string) bool, scale float64, reps int) (*inAll, error) {
	r := &inAll{scale: scale, runs: map[string]map[string][]used{}, bytes: map[string]float64{},
		prompts: map[string][]float64{}}
	more, missing, err := largePrograms(b.dir, scale)
	if err != nil {
		return nil, err
	}
	r.missing = missing
	for _, w := range slices.Concat(all, more) {
		if !w.synthetic() && w.drive == nil && match(w.name) {
			r.programs = append(r.programs, w)
		}
	}
	r.variants = []variant{b.baselines()[0], exactVariant}
	rivals, none := b.rivals()
	for _, v := range rivals {
		if v.name == heaptrackName || v.name == heaptrackRaw {
			r.variants = append(r.variants, v)
		}
	}
	if len(r.variants) == 2 {
		r.missing = append(r.missing, none...)
	}
	for i := range r.programs {
		if err := b.programInAll(r, &r.programs[i], reps); err != nil {
			return nil, fmt.Errorf("%s: %w", r.programs[i].name, err)
		}
	}
	tasks, missing, err := shortTasks(b.dir, runtime.NumCPU())
	if err != nil {
		return nil, err
	}
	r.missing = append(r.missing, missing...)
	for _, t := range tasks {
		if !match(t.name) {
			continue
		}
		if err := b.taskInAll(t, r.variants[:2], reps); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		r.tasks = append(r.tasks, t)
	}
	if err := b.askPrompts(r, match, reps); err != nil {
		return nil, err
	}
	if match("idle") {
		for range reps {
			share, err := b.idleShare()
			if err != nil {
				return nil, fmt.Errorf("an idle target: %w", err)
			}
			r.idle = append(r.idle, share)
		}
	}
	out, err := exec.Command(b.tsc).Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.tsc, err)
	}
	r.counter, _, _ = strings.Cut(string(out), " ")
	return r, nil
}

// programInAll runs a program in all variants and places, in turn.
func (b *bench) programInAll(r *inAll, w *workload, reps int) error {
	of := map[string][]used{}
	r.runs[w.name] = of
	for rep := range reps {
		for i := range r.variants {
			v := &r.variants[i]
			for _, p := range places {
				if v.name == heaptrackName && (rep > 0 || w.name != interpretedName) {
					continue
				}
				u, err := b.once(w, "", v, 1, p, func(out string) error {
					if v.name != exact || rep > 0 || p.one {
						return nil
					}
					var s sample
					if err := b.size(&s, w, v, filepath.Join(out, "0")); err != nil || s.events == 0 {
						return err
					}
					r.bytes[w.name] = s.bytes / s.events
					return nil
				})
				if err != nil {
					return fmt.Errorf("%s%s: %w", v.name, p.name, err)
				}
				of[v.name+p.name] = append(of[v.name+p.name], u)
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%-16s", w.name)
	for i := range r.variants {
		for _, p := range places {
			fmt.Fprintf(os.Stderr, "  %s%s %s", r.variants[i].name, p.name, r.cell(w.name, r.variants[i].name, p))
		}
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

// once runs a program in a folder of its own, which look sees before it is removed.
func (b *bench) once(w *workload, dir string, v *variant, repeats int, p place, look func(out string) error) (u used,
	err error) {
	out, err := os.MkdirTemp(b.dir, "all-")
	if err != nil {
		return u, err
	}
	defer os.RemoveAll(out)
	run := func() (err error) {
		u, err = b.runInAll(w, dir, v, repeats, out)
		return err
	}
	if p.one {
		err = onOne(run)
	} else {
		err = run()
	}
	if err == nil && look != nil {
		err = look(out)
	}
	return u, err
}

// taskInAll does a task alone and recorded, in turn.
func (b *bench) taskInAll(t *task, variants []variant, reps int) error {
	t.samples = map[string][]used{}
	w := &workload{name: t.name, args: t.args}
	for range reps {
		for i := range variants {
			u, err := b.once(w, t.dir, &variants[i], t.repeats, places[0], nil)
			if err != nil {
				return err
			}
			t.samples[variants[i].name] = append(t.samples[variants[i].name], u)
		}
	}
	fmt.Fprintf(os.Stderr, "%-16s %s\n", t.name, t.row())
	return nil
}

// askPrompts measures how long after a program's end the command returns, in a plain `heaptap run`, with its summary.
func (b *bench) askPrompts(r *inAll, match func(string) bool, reps int) error {
	list := []workload{{name: "/bin/true", args: []string{"/bin/true"}}}
	for _, w := range r.programs {
		if w.name == "cc1plus" {
			list = append(list, w)
		}
	}
	for _, w := range list {
		for range reps {
			if !match(w.name) {
				break
			}
			took, err := b.prompt(&w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			r.prompts[w.name] = append(r.prompts[w.name], took)
		}
	}
	return nil
}

func (b *bench) prompt(w *workload) (float64, error) {
	out, err := os.MkdirTemp(b.dir, "prompt-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(out)
	times := filepath.Join(out, "cpu")
	args := append([]string{"run", "-o", out + "/", "--", b.cpu, times, "--"}, w.args...)
	cmd := exec.Command(b.heaptap, args...)
	cmd.Dir, cmd.Env = out, append(os.Environ(), w.env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("heaptap run: %w\n%s", err, text)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, fmt.Errorf("reading the clock: %w", err)
	}
	use, err := readUse(times)
	return float64(t.Nano())/1e9 - use.end, errors.Join(err, reapOrphans(30*time.Second))
}

// Package input finds the recordings that a user means: a run, a recording, a process id, or nothing, which is the last
// run made in the working directory. Of a run, it finds the program that matters.
package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	imports "github.com/heaptap/heaptap/internal/import"
	"github.com/heaptap/heaptap/internal/merge"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
)

// Finder finds recordings.
type Finder struct {
	Version  string            // of heaptap, for recordings made from other files
	Programs []string          // patterns: the programs of a run that are meant; nil: the one that matters
	All      bool              // all programs of a run are meant
	Apart    bool              // each of several programs counts for itself; else their sum is the answer
	Sure     bool              // which program matters must not be doubtful, and a run must be complete
	Say      func(text string) // tells the user what was found; nil: nobody wants to know
}

// Recording is a recording that was found.
type Recording struct {
	Name string // for messages, and for the names of files that are made of it
	Path string // its file; "": it is a part of a file
	// Title is what the user calls it: for one of several programs of a run, it says which.
	Title string
	work  string // the program of a run and what it works on
	open  func() (*recording.Reader, error)
}

// Open opens the recording.
func (r *Recording) Open() (*recording.Reader, error) { return r.open() }

// Source opens the recording for questions.
func (r *Recording) Source() (*query.Source, error) {
	rec, err := r.open()
	if err != nil {
		return nil, err
	}
	s, err := query.New(context.Background(), rec)
	if err != nil {
		return nil, errors.Join(err, rec.Close())
	}
	return s, nil
}

// File is the recording in a file, or at an address within a run (run.OpenRecording), as it is.
func File(path string) Recording {
	return Recording{Name: path, Path: path,
		open: func() (*recording.Reader, error) { return run.OpenRecording(path) }}
}

// Found is what an argument stands for.
type Found struct {
	Recordings []Recording
	made       bool // they were made of what the user named
	closers    []func()
}

// entitle says what the user calls the recordings that an argument stands for.
func (f *Found) entitle(arg string) {
	for i := range f.Recordings {
		switch r := &f.Recordings[i]; {
		case r.Title != "":
		case !f.made:
			r.Title = r.Name
		case len(f.Recordings) > 1:
			r.Title = filepath.Base(r.Name)
		default:
			r.Title = arg
		}
	}
}

// Add takes over what another argument stands for.
func (f *Found) Add(o *Found) {
	f.Recordings, f.closers = append(f.Recordings, o.Recordings...), append(f.closers, o.closers...)
}

// Close removes temporary files. Open recordings stay readable.
func (f *Found) Close() {
	for _, c := range f.closers {
		c()
	}
	f.closers = nil
}

// One opens what arguments stand for, as one recording: the sum, if they stand for several. Without any, that is the
// last run made here.
func (f *Finder) One(ctx context.Context, args ...string) (*query.Source, error) {
	found := &Found{}
	defer func() { found.Close() }()
	if len(args) == 0 {
		args = []string{""}
	}
	for _, arg := range args {
		one, err := f.Find(ctx, arg)
		if err != nil {
			return nil, err
		}
		found.Add(one)
	}
	if n := len(found.Recordings); n > 1 {
		f.say("the sum of %d recordings", n)
		if err := f.sum(ctx, found.Recordings[0].Name, found); err != nil {
			return nil, err
		}
	}
	return found.Recordings[0].Source()
}

// Find returns the recordings that an argument stands for, at least one. A recording stands for itself, a run for the
// program that matters, a number for the process with that id, and "" for the last run made here. The spool of a
// process that ran without a recorder stands for a recording of each process that it forked, another tool's file for
// its import. What still runs is brought up to date first.
func (f *Finder) Find(ctx context.Context, arg string) (*Found, error) {
	found := &Found{}
	err := f.find(ctx, arg, found)
	if err != nil {
		found.Close()
		return nil, err
	}
	found.entitle(arg)
	return found, nil
}

func (f *Finder) find(ctx context.Context, arg string, found *Found) error {
	if arg == "" {
		return f.last(ctx, found)
	}
	st, err := os.Stat(arg)
	if pid := processID(arg, err); pid > 0 {
		return f.process(ctx, pid, found)
	}
	switch {
	case err == nil && run.Is(arg):
		return f.run(ctx, arg, "", found)
	case err == nil && st.IsDir():
		return folderError(arg)
	case isSpool(arg):
		return temporary(found, func(dir string) (list []Recording, err error) {
			paths, err := converted(ctx, arg, dir)
			for _, p := range paths {
				list = append(list, File(p))
			}
			return list, err
		})
	case imports.Is(arg):
		return temporary(found, func(dir string) ([]Recording, error) {
			path := filepath.Join(dir, filepath.Base(arg)) // errors contain this name
			return []Recording{File(path)}, imports.File(ctx, arg, path, f.Version, "")
		})
	}
	f.flushFile(arg)
	found.Recordings = []Recording{File(arg)}
	return f.certain(arg)
}

// certain returns an error if a recording must be of what the user named, and may not be: a shell's, for example, that
// executed what could not be recorded.
func (f *Finder) certain(path string) error {
	if !f.Sure || f.All || f.Programs != nil {
		return nil
	}
	r, err := run.Open(path)
	if err != nil {
		return nil // whoever reads it says so
	}
	defer r.Close()
	if _, _, err := f.named(r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// processID returns the process that an argument stands for; 0: none. missing is the error of os.Stat: what exists is a
// file.
func processID(arg string, missing error) int {
	pid, err := strconv.Atoi(arg)
	if err != nil || !errors.Is(missing, fs.ErrNotExist) {
		return 0
	}
	return max(0, pid)
}

// Is reports whether a text names something that can be read: a run, a recording, a spool or another tool's file. What
// is called .htap is one, even if there is no such file.
func Is(arg string) bool {
	return filepath.Ext(arg) == ".htap" || run.Is(arg) || isSpool(arg) || IsRecording(arg) || imports.Is(arg)
}

// IsRecording reports whether there is a file at a path that begins as a recording does.
func IsRecording(path string) bool {
	f, err := private.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, _, err = recording.Peek(f)
	return err == nil
}

// temporary has recordings made in a folder that is removed later.
func temporary(found *Found, make func(dir string) ([]Recording, error)) error {
	dir, remove, err := outfile.TemporaryDir("heaptap-query-")
	if err != nil {
		return err
	}
	found.closers, found.made = append(found.closers, remove), true
	found.Recordings, err = make(dir)
	return err
}

// folderError is the error of a folder that is not a run. It names the runs in it.
func folderError(path string) error {
	list, err := run.List(path)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: the folder has no recordings (.htap)", path)
	}
	var names []string
	for _, e := range list[:min(3, len(list))] {
		names = append(names, e.Path)
	}
	more := ""
	if n := len(list) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s: is a folder, not a run; it holds %s%s (heaptap runs %s)", path, strings.Join(names, ", "),
		more, path)
}

// last finds the last run made in the working directory.
func (f *Finder) last(ctx context.Context, found *Found) error {
	path, single, err := lastRun()
	if err != nil {
		return err
	}
	if !single {
		return f.run(ctx, path, whichLast, found)
	}
	f.say("%s: %s", path, whichLast)
	f.flushFile(path)
	found.Recordings = []Recording{File(path)}
	return f.certain(path)
}

// Run opens the run that an argument stands for: that of a process, or the last one made here.
func (f *Finder) Run(arg string) (*run.Run, error) {
	path, err := f.runAt(arg)
	if err != nil {
		return nil, err
	}
	r, err := run.Open(path)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Programs() {
		if r.Live() && p.Running() && flushWhole(p.Pid) {
			break // any of them leads to the recorder, which then writes all
		}
	}
	r.Update()
	return r, nil
}

// runAt returns the path of the run that an argument stands for.
func (f *Finder) runAt(arg string) (path string, err error) {
	if arg == "" {
		if path, _, err = lastRun(); err == nil {
			f.say("%s: %s", path, whichLast)
		}
		return path, err
	}
	st, err := os.Stat(arg)
	if pid := processID(arg, err); pid > 0 {
		if path, err = runOf(pid); err == nil {
			f.say("%s: the run of process %d", path, pid)
		}
		return path, err
	}
	if err == nil && st.IsDir() && !run.Is(arg) {
		return "", folderError(arg)
	}
	return arg, nil
}

// LastRun returns the path of the last run that this user has made in the working directory.
func LastRun() (string, error) {
	path, _, err := lastRun()
	return path, err
}

// Exists reports whether there is a file or folder at the path that names what can be read.
func Exists(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil && Is(arg)
}

const whichLast = "the last run made here"

// lastRun is the last run made in the working directory by this user. single: it is a recording's file.
func lastRun() (path string, single bool, err error) {
	list, err := run.List(".")
	if err != nil {
		return "", false, err
	}
	for _, e := range list {
		if e.Ours { // in a folder that everybody may write to, anybody could answer
			return e.Path, e.Single, nil
		}
	}
	if len(list) > 0 {
		return "", false, fmt.Errorf("no run of yours is in this folder, but %d of others; name the one that you mean",
			len(list))
	}
	return "", false, errors.New("no recording given, and no run is in this folder; to make one: heaptap run COMMAND")
}

func (f *Finder) say(format string, args ...any) {
	if f.Say != nil {
		f.Say(fmt.Sprintf(format, args...))
	}
}

// mostEnding bounds how long a recorder is waited for that has nothing more to record: what a run lacks is known only
// once its recorder is gone.
const mostEnding = 3 * time.Second

// run finds the programs of a run that are meant. what says why it is this run; "": the user named it.
func (f *Finder) run(ctx context.Context, path, what string, found *Found) error {
	r, err := run.Open(path)
	if err != nil {
		return err
	}
	for until := time.Now().Add(mostEnding); f.Sure && r.Ending() && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
		again, err := run.Open(path)
		if err != nil {
			break
		}
		r.Close()
		r = again
	}
	found.closers = append(found.closers, func() { r.Close() })
	if d := r.Damage(); d != "" && f.Sure && !r.IsRecording() { // the damage of a recording is told by whoever asks it
		return fmt.Errorf("%s: the run is not complete: %s", path, d)
	}
	chosen, why, err := f.choose(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case what != "" && why != "":
		f.say("%s, %s: %s", path, what, why)
	case what != "" || why != "":
		f.say("%s: %s%s", path, what, why)
	}
	if d := r.Damage(); d != "" {
		f.say("%s: the run is not complete: %s", path, d)
	}
	f.flushRun(r, chosen)
	programs := r.Programs()
	for _, i := range chosen {
		name, title, p := path, "", &programs[i]
		if len(programs) > 1 {
			title = described(p) + " in " + path
		}
		if len(chosen) > 1 {
			name = fmt.Sprintf("%s.%s.%d.htap", strings.TrimSuffix(path, ".htap"), p.Name(), p.Pid)
			if p.Exec > 0 {
				name = fmt.Sprintf("%s.%d.htap", strings.TrimSuffix(name, ".htap"), p.Exec+1)
			}
		}
		found.Recordings = append(found.Recordings,
			Recording{Name: name, Title: title, work: p.Title(),
				open: func() (*recording.Reader, error) { return r.OpenProgram(i) }})
	}
	if len(chosen) == 1 || f.Apart {
		return nil
	}
	return f.sum(ctx, path, found)
}

// Gathered finds the programs that are meant of a run whose recordings are files of their own.
func (f *Finder) Gathered(r *run.Run) (*Found, error) {
	chosen, why, err := f.choose(r)
	if err != nil {
		return nil, err
	}
	if why != "" {
		f.say("%s", why)
	}
	found := &Found{}
	for _, i := range chosen {
		found.Recordings = append(found.Recordings, File(r.Programs()[i].Member))
	}
	found.entitle("")
	return found, nil
}

// sum replaces the recordings that were found by their sum, and calls it as what the user named.
func (f *Finder) sum(ctx context.Context, path string, found *Found) error {
	parts := found.Recordings
	return temporary(found, func(dir string) ([]Recording, error) {
		m := merge.New(merge.ByClock)
		m.Running = true
		left := 0
		for k := range parts {
			rec, err := parts[k].Open()
			if err == nil {
				err = errors.Join(m.Add(ctx, cmp.Or(parts[k].work, parts[k].Name), rec), rec.Close())
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil {
				left++
				f.say("left out of the sum: %v", err)
			}
		}
		if left == len(parts) {
			return nil, fmt.Errorf("%s: none of %d recordings could be summed up", path, left)
		}
		to := filepath.Join(dir, filepath.Base(path))
		err := m.Write(to)
		r := File(to)
		r.Name, found.made = path, false
		return []Recording{r}, err
	})
}

// Expand replaces each folder that is not a run by the recordings and runs in it. What does not exist stays in the
// list: opening it reports the error.
func Expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil || !st.IsDir() || run.Is(path) {
			files = append(files, path)
			continue
		}
		list, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, e := range list {
			at := filepath.Join(path, e.Name())
			if filepath.Ext(e.Name()) == ".htap" && (!e.IsDir() || run.Is(at)) {
				files = append(files, at)
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: the folder has no recordings (.htap)", path)
		}
	}
	return files, nil
}

// SplitRange splits FILE@FROM..TO, unless a file with the whole name exists.
func SplitRange(text string) (file, span string) {
	i := strings.LastIndexByte(text, '@')
	if _, err := os.Stat(text); err == nil || i < 0 || !strings.Contains(text[i:], "..") {
		return text, ""
	}
	return text[:i], text[i+1:]
}

// SplitProcess splits RUN#PATTERN, unless a file with the whole name exists. The pattern is of a program of the run.
func SplitProcess(text string) (run, pattern string) {
	i := strings.LastIndexByte(text, '#')
	if _, err := os.Stat(text); err == nil || i < 0 {
		return text, ""
	}
	return text[:i], text[i+1:]
}

package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
	"golang.org/x/sys/unix"
)

// Run is a run that was opened for reading. What files say is checked, and nothing outside of the run's folder is read.
// It is not safe for concurrent use, but the readers that OpenProgram returns are independent of it.
type Run struct {
	path     string
	info     Info
	programs []Program // in order of start
	numbers  []int     // by place in programs: the program's number in the index
	index    index
	over     bool
	damage   []string

	root  *os.Root // the folder; nil: one file
	pack  *os.File // a run in one file
	file  *os.File // a recording
	loose bool     // recordings that are files of their own, which Member names
	ended bool     // of a recording: it has its ending

	read *recording.Reader // of a recording that has its ending: as Open has read it; nil: it was handed out, or let go
}

// Paths in a run's folder.
const (
	infoName  = "run.json"
	indexName = "index"
	packName  = "small.pack"
	membersIn = "p"
)

// longestInfo bounds run.json, in bytes.
const longestInfo = 1 << 20

// Is reports whether a path is a run's folder, or a run in one file; false for a recording.
func Is(path string) bool {
	st, err := os.Stat(path)
	if err != nil {
		return false
	}
	if st.IsDir() {
		info, err := os.Lstat(filepath.Join(path, infoName))
		return err == nil && info.Mode().IsRegular()
	}
	f, err := private.OpenRegular(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return isPack(f)
}

func isPack(f io.ReaderAt) bool {
	var magic [len(packMagic)]byte
	_, err := f.ReadAt(magic[:], 0)
	return err == nil && string(magic[:]) == packMagic
}

// Open opens the run at path: a folder, a file that `heaptap pack` has made, or a recording, which is a run of one
// program.
func Open(path string) (*Run, error) {
	for try := 0; ; try++ {
		r, err := open(path)
		if !errors.Is(err, fs.ErrNotExist) || try == 20 || !changing(path) {
			return r, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// changing reports whether a run at path may just be becoming a folder, on a file system that cannot exchange two
// names.
func changing(path string) bool {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(path), escapeGlob(temporaryPrefix(path))+"*"))
	return err == nil && len(list) > 0
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

func open(path string) (*Run, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &Run{path: path}
	switch {
	case st.IsDir():
		f.Close()
		err = r.openFolder()
	case !st.Mode().IsRegular():
		f.Close()
		return nil, fmt.Errorf("%s: neither a folder nor a regular file; a recording cannot be read from a pipe or a "+
			"device", path)
	case isPack(f):
		err = r.openPacked(f, st.Size())
	default:
		err = r.openRecording(f)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.arrange()
	return r, nil
}

// Close closes the run. Readers of its programs stay open.
func (r *Run) Close() error {
	errs := []error{r.LetGo()}
	if r.root != nil {
		errs = append(errs, r.root.Close())
	}
	for _, f := range []*os.File{r.pack, r.file} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	r.root, r.pack, r.file = nil, nil, nil
	return errors.Join(errs...)
}

// LetGo frees what Open has read of a recording, which it keeps for the first call of OpenProgram.
func (r *Run) LetGo() (err error) {
	if r.read != nil {
		err, r.read = r.read.Close(), nil
	}
	return err
}

// Path is the path by which the run was opened.
func (r *Run) Path() string { return r.path }

// Info is what the run is.
func (r *Run) Info() Info { return r.info }

// Size is how many bytes the run's recordings take.
func (r *Run) Size() (bytes int64) {
	if f := cmp.Or(r.file, r.pack); f != nil {
		if st, err := f.Stat(); err == nil {
			bytes = st.Size()
		}
		return bytes
	}
	for i := range r.programs {
		if p := &r.programs[i]; p.Packed != nil {
			bytes += p.Packed.Size
		} else if r.root == nil {
			continue // a gathered one
		} else if st, err := r.root.Stat(p.Member); err == nil {
			bytes += st.Size()
		}
	}
	return bytes
}

// IsRecording reports whether the run is one recording's file.
func (r *Run) IsRecording() bool { return r.root == nil && r.pack == nil }

// Programs returns the recorded programs in order of start.
func (r *Run) Programs() []Program { return r.programs }

// Live reports whether a recorder still writes the run.
func (r *Run) Live() bool {
	switch {
	case r.root != nil:
		return !r.over && r.locked()
	case r.file != nil && !r.ended:
		locked, _ := private.Locked(r.file)
		return locked
	}
	return false
}

// Ending reports whether a recorder still writes the run, although all its processes have ended.
func (r *Run) Ending() bool {
	running := func(p Program) bool {
		if !p.Running() {
			return false
		}
		_, err := os.Stat(fmt.Sprintf("/proc/%d", p.Pid))
		return err == nil
	}
	return r.root != nil && !slices.ContainsFunc(r.programs, running) && r.locked()
}

// locked reports whether somebody holds the index's lock, or nobody can know.
func (r *Run) locked() bool {
	f, err := r.regular(indexName)
	if err != nil {
		return false
	}
	defer f.Close()
	locked, known := private.Locked(f)
	return locked || !known
}

// Damage says in a sentence what the run lacks; "" if it lacks nothing, or while a recorder still writes it.
func (r *Run) Damage() string { return strings.Join(r.damage, "; ") }

// regular opens a regular file in the folder. It follows no link, and waits for nothing.
func (r *Run) regular(name string) (*os.File, error) { return regularIn(r.root, name) }

func regularIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: not a regular file", filepath.Join(root.Name(), name))
	}
	return f, nil
}

// openFolder reads a run's folder.
func (r *Run) openFolder() (err error) {
	if r.root, err = os.OpenRoot(r.path); err != nil {
		return err
	}
	if err := r.readInfo(); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: is a folder, but not a run: it has no %s", r.path, infoName)
	} else if err != nil {
		return err
	}
	live := r.locked() // before the index is read: what a recorder writes last is then in it
	if err := r.readIndex(); err != nil && !live {
		r.index.broken = err
	}
	r.over = r.index.over
	if !live {
		switch {
		case r.index.broken != nil:
			r.damage = append(r.damage, fmt.Sprintf("the index cannot be read beyond byte %d (%v)", r.index.length,
				r.index.broken))
		case !r.over:
			r.damage = append(r.damage, "the recorder ended before the run did")
		}
		r.complete()
	}
	failed := 0
	for i := range r.index.programs {
		if r.index.programs[i].Failed {
			failed++
		}
	}
	if failed > 0 {
		r.damage = append(r.damage, fmt.Sprintf("%d of its programs could not be recorded", failed))
	}
	return nil
}

// readInfo reads run.json.
func (r *Run) readInfo() error {
	f, err := r.regular(infoName)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestInfo))
	if err == nil {
		err = r.info.decode(text)
	}
	if err != nil {
		return fmt.Errorf("%s/%s: %w", r.path, infoName, err)
	}
	return nil
}

// decode reads run.json.
func (i *Info) decode(text []byte) error {
	if err := json.Unmarshal(text, i); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if i.Format > format {
		return fmt.Errorf("the run has format %d, and this heaptap knows %d; use a newer heaptap", i.Format, format)
	}
	return nil
}

func (r *Run) readIndex() error {
	f, err := r.regular(indexName)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return r.index.read(f, st.Size())
}

// openPacked reads a run that is one file.
func (r *Run) openPacked(f *os.File, size int64) error {
	r.pack = f
	ended := false
	_, broken := readPack(f, size, func(e *entry) error {
		switch e.kind {
		case entryRun:
			return r.info.decode(e.description)
		case entryProgram:
			p, err := e.program()
			if err != nil {
				return err
			}
			r.index.programs = append(r.index.programs, p)
		case entryEnd:
			ended = true
		}
		return nil
	})
	if r.info.Format == 0 {
		return fmt.Errorf("%s: not a run: it is the pack of a run's folder, or its beginning is damaged", r.path)
	}
	r.over = true
	switch {
	case broken != nil:
		r.damage = append(r.damage, fmt.Sprintf("the file cannot be read to its end: %v", broken))
	case !ended:
		r.damage = append(r.damage, "the file was cut short")
	}
	return nil
}

// openRecording makes a run of one recording.
func (r *Run) openRecording(f *os.File) error {
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		again, err = os.Open(r.path)
	}
	r.file = f
	if err != nil {
		return err
	}
	rec, err := recording.OpenFile(again, r.path)
	if err != nil {
		return err
	}
	_, r.ended = rec.Ending()
	r.info = infoOf(rec.Process())
	r.index.programs = []Program{ProgramOf(rec)}
	if list := rec.Damage(); len(list) > 0 && !rec.Live() {
		r.damage = append(r.damage, list[0])
	}
	if !r.ended {
		return rec.Close()
	}
	r.read = rec
	return nil
}

// infoOf describes the run that is one recording.
func infoOf(d event.Process) Info {
	return Info{Format: format, Pid: max(0, d.PID), Command: d.Args, Folder: d.Dir, Host: d.Host,
		Started: time.Unix(0, d.Started), Version: d.Recorder, Chosen: d.Parent != 0} // a fork is not the command
}

// arrange puts the programs into order, and finds out which belong together.
func (r *Run) arrange() {
	r.numbers = r.numbers[:0]
	for i := range r.index.programs {
		if !r.index.programs[i].Dropped {
			r.numbers = append(r.numbers, i)
		}
	}
	slices.SortStableFunc(r.numbers, func(a, b int) int {
		return r.index.programs[a].Start.Compare(r.index.programs[b].Start)
	})
	r.programs = make([]Program, len(r.numbers))
	latest, execs := map[int]int{}, map[int]int{} // by process id
	for i, n := range r.numbers {
		r.programs[i] = r.index.programs[n]
		p := &r.programs[i]
		p.Parent = -1
		if at, ok := latest[p.ParentPid]; ok && p.ParentPid != p.Pid {
			p.Parent = at
		}
		latest[p.Pid] = i
		p.Exec = execs[p.Pid]
		execs[p.Pid]++
	}
	if i, _, sure := r.Matters(); sure && i >= 0 {
		r.programs[i].Named = true
	}
}

// Refresh reads what the recorder has appended, and reports whether there was anything. The numbers of programs stay.
func (r *Run) Refresh() (bool, error) {
	if r.root == nil || r.over {
		return false, nil
	}
	before := r.index.length
	if err := r.readIndex(); err != nil {
		return false, err
	}
	r.over = r.index.over
	if r.index.length == before {
		return false, nil
	}
	r.arrange()
	return true, nil
}

// OpenProgram opens the recording of program i.
func (r *Run) OpenProgram(i int) (*recording.Reader, error) {
	if i < 0 || i >= len(r.programs) {
		return nil, fmt.Errorf("%s: there is no program %d", r.path, i)
	}
	for try := 0; ; try++ {
		p := &r.programs[i]
		rec, err := r.openProgram(p)
		if err == nil || r.root == nil {
			return rec, err
		}
		switch {
		case try < 100 && p.Running() && r.isEmpty(p.Member) && r.locked():
			time.Sleep(2 * time.Millisecond) // it has just begun: it is in the index, and about to be a file
		case try >= 2 || !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		// It may have been moved into the pack since the index was read.
		if err := r.readIndex(); err != nil {
			return nil, err
		}
		before := *p
		*p = r.index.programs[r.numbers[i]]
		p.Exec, p.Parent, p.Named = before.Exec, before.Parent, before.Named
	}
}

// isEmpty reports whether there is no file at a path of the folder, or nothing in it.
func (r *Run) isEmpty(name string) bool {
	st, err := r.root.Stat(name)
	return err != nil || st.Size() == 0
}

func (r *Run) openProgram(p *Program) (*recording.Reader, error) {
	switch {
	case r.read != nil:
		rec := r.read
		r.read = nil
		return rec, nil
	case r.file != nil:
		return r.reopen(r.path)
	case r.loose:
		return recording.Open(p.Member)
	case p.Packed != nil:
		return r.openPlace(p)
	case p.Member == "":
		return nil, fmt.Errorf("%s: process %d has no recording", r.path, p.Pid)
	}
	f, err := r.regular(p.Member)
	if err != nil {
		return nil, err
	}
	return recording.OpenFile(f, filepath.Join(r.path, p.Member))
}

// reopen opens the run's only recording, which may be in a folder by now.
func (r *Run) reopen(name string) (*recording.Reader, error) {
	f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", r.file.Fd()))
	if err != nil {
		return recording.Open(name)
	}
	return recording.OpenFile(f, name)
}

// openPlace opens a recording in a pack.
func (r *Run) openPlace(p *Program) (*recording.Reader, error) {
	name := r.path
	var f *os.File
	var err error
	if r.root != nil {
		name = filepath.Join(r.path, packName)
		f, err = r.regular(packName)
	} else {
		f, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", r.pack.Fd()))
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && (p.Packed.Size > st.Size() || p.Packed.Offset > st.Size()-p.Packed.Size) {
		err = fmt.Errorf("%s: was cut: the recording of process %d is not in it", name, p.Pid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	base := fmt.Sprintf("%s.%d.htap", p.Name(), p.Pid)
	if p.Member != "" {
		base = path.Base(p.Member)
	}
	section := io.NewSectionReader(f, p.Packed.Offset, p.Packed.Size)
	return recording.NewSection(section, section.Size(), base, f.Close)
}

package run

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
	"golang.org/x/sys/unix"
)

// Entry is a run in a folder: what can be said of it without reading its programs.
type Entry struct {
	Path   string
	Info   Info
	Ours   bool // it belongs to this user, or to the one who called sudo
	Single bool // it is the file of one recording
	Live   bool // a recorder writes it
}

// List returns the runs in a folder, the one that was started last first. Sums of several runs, and files and folders
// that are not runs, are left out. A copy of a run, such as a scrubbed one, comes after the run. Paths of runs in "."
// have no folder.
func List(dir string) ([]Entry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, n := range names {
		path := filepath.Join(dir, n.Name())
		if !n.IsDir() && filepath.Ext(n.Name()) != ".htap" || strings.HasPrefix(n.Name(), ".") {
			continue
		}
		if e, ok := look(path); ok {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Entry) int {
		return cmp.Or(b.Info.Started.Compare(a.Info.Started), cmp.Compare(len(a.Path), len(b.Path)))
	})
	return list, nil
}

// look describes what is at a path; false if that is not a run.
func look(path string) (e Entry, ok bool) {
	e.Path = path
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return e, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return e, false
	}
	sys, known := st.Sys().(*syscall.Stat_t)
	e.Ours = known && private.Ours(sys.Uid)
	switch {
	case st.IsDir():
		e.Info, e.Live, err = lookFolder(path)
	case !st.Mode().IsRegular():
		return e, false
	case isPack(f):
		e.Info, err = lookPack(f, st.Size())
	default:
		p, merged, wrong := recording.Peek(f)
		if wrong != nil || merged {
			return e, false
		}
		e.Single = true
		e.Live, _ = private.Locked(f)
		e.Info = infoOf(p)
	}
	return e, err == nil
}

func lookFolder(path string) (info Info, live bool, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return info, false, err
	}
	defer root.Close()
	r := &Run{path: path, root: root}
	err = r.readInfo()
	return r.info, r.locked(), err
}

// lookPack reads the first entry of a run that is one file.
func lookPack(f io.ReaderAt, size int64) (info Info, err error) {
	e, err := readEntry(f, int64(len(packMagic)), size)
	switch {
	case err != nil:
		return info, err
	case e.kind != entryRun:
		return info, errors.New("it is the pack of a run's folder")
	}
	return info, info.decode(e.description)
}

// Default reports whether a run has the name that heaptap gives: NAME.PID.htap, with the target's process id.
func (e *Entry) Default() bool {
	return e.Info.Pid > 0 && strings.HasSuffix(e.Path, fmt.Sprintf(".%d.htap", e.Info.Pid))
}

// Discard removes the run from disk, if it belongs to this user, is complete, and holds nothing but a run.
func (e *Entry) Discard() error {
	st, err := os.Lstat(e.Path)
	if err != nil {
		return err
	}
	again, ok := look(e.Path)
	switch {
	case !ok || again.Info.Pid != e.Info.Pid || !again.Info.Started.Equal(e.Info.Started):
		return fmt.Errorf("%s: has changed", e.Path)
	case !again.Ours:
		return fmt.Errorf("%s: belongs to another user", e.Path)
	case again.Live:
		return fmt.Errorf("%s: is being recorded", e.Path)
	case st.IsDir():
		return Remove(e.Path)
	case !st.Mode().IsRegular() || !e.Single:
		return fmt.Errorf("%s: is neither a folder nor a recording", e.Path)
	}
	return os.Remove(e.Path)
}

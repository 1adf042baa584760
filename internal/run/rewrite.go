package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
	"golang.org/x/sys/unix"
)

// Single makes a run the file of the program that matters. The others are lost.
func Single(path string) error {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.IsRecording() {
		return nil
	}
	i, why, _ := r.Matters()
	if i < 0 {
		return fmt.Errorf("%s: %s", path, why)
	}
	rec, err := r.OpenProgram(i)
	if err != nil {
		return err
	}
	defer rec.Close()
	f, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix(path)+"*")
	if err != nil {
		return err
	}
	tmp := f.Name()
	_ = f.Chmod(r.mode())
	_ = private.GiveToCaller(f)
	_, err = io.Copy(f, rec.Content())
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(tmp)
		return err
	}
	return replaceBy(path, tmp)
}

// Rewrite replaces each recording of a run's folder by what change makes of it, and what the run says of its programs
// by what the new recordings say.
func Rewrite(path string, change func(rec *recording.Reader, to string) error) error {
	r, err := Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if len(r.programs) == 0 {
		return fmt.Errorf("%s: has no programs", path)
	}
	tmp := filepath.Join(filepath.Dir(path), temporaryPrefix(path)+"new")
	one := tmp + ".htap"
	info := Info{Format: format, ID: r.info.ID, Pid: r.info.Pid, Rank: r.info.Rank, Started: r.info.Started,
		Version: r.info.Version}
	i, _, sure := r.Matters()
	info.Matters = &Choice{r.programs[i].Member, sure}
	w := NewWriter(tmp, info, r.mode(), nil)
	for i := range r.programs {
		if err := r.rewrite(i, w, one, change); err != nil {
			w.Close()
			return errors.Join(err, discard(w.Path()))
		}
	}
	w.Close()
	return replaceBy(path, w.Path())
}

// rewrite adds a program to another run.
func (r *Run) rewrite(i int, w *Writer, one string, change func(rec *recording.Reader, to string) error) error {
	rec, err := r.OpenProgram(i)
	if err != nil {
		return err
	}
	defer rec.Close()
	if err := change(rec, one); err != nil {
		os.Remove(one)
		return err
	}
	changed, err := recording.Open(one)
	if err != nil {
		return err
	}
	defer changed.Close()
	p, says, d := r.programs[i], ProgramOf(changed), changed.Process()
	p.Exe, p.Command, p.Folder, p.Label, p.Called, p.Packed = says.Exe, says.Command, says.Folder, says.Label, "", nil
	if p.Pid == r.info.Pid && !p.Forked {
		w.info.Command, w.info.Folder, w.info.Host = says.Command, says.Folder, d.Host
	}
	end := p
	p.End = time.Time{}
	n, _, err := w.Begin(p, func(path, _ string) (string, error) { return path, os.Rename(one, path) })
	if err != nil {
		return err
	}
	if !end.Running() {
		_, err = w.End(n, end, func(path string) (string, error) { return path, nil })
	}
	return err
}

// mode are the permissions of the run's files.
func (r *Run) mode() os.FileMode {
	if r.root != nil {
		if st, err := r.root.Stat(infoName); err == nil {
			return st.Mode().Perm()
		}
	}
	return 0o600
}

// replaceBy puts what is at tmp into the place of a run's folder, and removes that.
func replaceBy(path, tmp string) error {
	err := CheckReplaceable(path)
	if err == nil && unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE) == nil {
		return discard(tmp)
	}
	if err == nil {
		err = makeWay(path)
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, discard(tmp))
	}
	return nil
}

// discard removes a run.
func discard(path string) error {
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil
	case st.IsDir():
		return Remove(path)
	}
	return os.Remove(path)
}

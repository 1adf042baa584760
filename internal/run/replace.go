package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/recording"
)

// makeWay removes the run's folder at path, if there is one: a new run takes its place. It is removed only if it
// belongs to this user, no recorder writes it, and everything in it is listed in its own index or pack; what the user
// has put there is never removed. A file is left to the one who creates a new one.
func makeWay(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(path), 0o777)
	}
	if err != nil || !st.IsDir() {
		return err
	}
	return Remove(path)
}

// beingRecorded reports whether a recorder writes what is at a path.
func beingRecorded(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.IsDir() && !st.Mode().IsRegular() {
		return false
	}
	r, err := open(path)
	if err != nil {
		return false
	}
	defer r.Close()
	return r.Live()
}

// CheckReplaceable returns an error if a new run cannot take the place of what is at a path.
func CheckReplaceable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil || beingRecorded(path):
		return nil
	case st.Mode().IsRegular():
		if st.Size() > 0 && isForeign(path) {
			return fmt.Errorf("%s: exists and is not a recording; remove it, or give another name", path)
		}
		return nil
	case !st.IsDir():
		return fmt.Errorf("%s: exists and is not a regular file; a run cannot be written to it", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = removable(root, path)
	return err
}

// FindFile returns where the recording that is a file of its own at a path can be made: there, unless there is a file
// that is not a recording. why says so; "": it is the path.
func FindFile(path string) (place, why string) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() == 0 || !isForeign(path) {
		return path, ""
	}
	place, err := freeName(path)
	if err != nil {
		return path, ""
	}
	return place, fmt.Sprintf("%s exists and is not a recording; this one is %s", path, place)
}

// isForeign reports whether a file is neither a recording nor a run.
func isForeign(path string) bool {
	f, err := private.OpenRegular(path)
	if err != nil {
		return false // whoever creates the new one says why it cannot
	}
	defer f.Close()
	return !recording.Begins(f) && !isPack(f)
}

// Remove removes a run's folder, under the conditions of makeWay. It never removes what it does not know.
func Remove(path string) error {
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	list, err := removable(root, path)
	if err != nil {
		return err
	}
	for _, name := range list {
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("%s: cannot be removed: %w", path, err)
		}
	}
	return os.Remove(path)
}

// removable lists what is in a run's folder, folders after what is in them. An error says why it must not be removed.
func removable(root *os.Root, at string) (list []string, err error) {
	st, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); !ok || !private.Ours(sys.Uid) {
		return nil, fmt.Errorf("%s: belongs to another user", at)
	}
	r := &Run{path: at, root: root}
	f, err := r.regular(infoName)
	if err != nil {
		return nil, fmt.Errorf("%s: is a folder, but not a run; name another with -o", at)
	}
	f.Close()
	if err := r.readIndex(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r.locked() && !r.index.over { // a recorder that has written everything is about to end
		return nil, fmt.Errorf("%s: is being recorded", at)
	}
	listed := map[string]bool{infoName: true, indexName: true, packName: true, membersIn: true}
	for i := range r.index.programs {
		if m := r.index.programs[i].Member; m != "" {
			listed[m], listed[path.Dir(m)] = true, true
		}
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case !listed[name] && !listed[strings.TrimSuffix(name, ".recovered")] ||
			d.IsDir() != (name == membersIn || path.Dir(name) == membersIn):
			return fmt.Errorf("%s: holds %s, which is not of the run; remove it, or name another file with -o", at,
				name)
		}
		list = append(list, name)
		return nil
	})
	// What is in a folder comes after it.
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, err
}

package run

import (
	"fmt"
	"os"
	"path/filepath"
)

// FillDisk has nothing be written to the index, as on a full disk.
func (w *Writer) FillDisk() (undo func()) {
	whole := w.index
	w.index, _ = os.Open(fmt.Sprintf("/proc/self/fd/%d", whole.Fd()))
	return func() {
		w.index.Close()
		w.index = whole
	}
}

// WithoutLinks has runs become folders as on a file system that can neither link nor exchange files.
func WithoutLinks() (undo func()) {
	linksWork = false
	return func() { linksWork = true }
}

// Abandon lets go of the run's files, as a recorder that is killed does.
func (w *Writer) Abandon() {
	if w.root != nil {
		w.index.Close()
		w.root.Close()
	}
}

// HalfGrow makes of the run's file what a recorder leaves that is killed while it makes a folder of it. moved: on a
// file system without links.
func (w *Writer) HalfGrow(moved bool) error {
	tmp := filepath.Join(filepath.Dir(w.path), temporaryPrefix(w.path)+w.short())
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := w.furnish(root); err != nil {
		return err
	}
	w.enter(0)
	defer w.index.Close()
	to := filepath.Join(tmp, w.list[0].Member)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if moved {
		return os.Rename(w.path, to)
	}
	return os.Link(w.path, to)
}

package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/private"
)

// Resume returns the writer of a run whose recorder was killed: it goes on with what there is of it at path. begun says
// that a recording of it was begun; otherwise a file at path is of an earlier run.
func Resume(path string, info Info, mode fs.FileMode, note func(text string), begun bool) (*Writer, error) {
	w := NewWriter(path, info, mode, note)
	w.finishGrowing()
	r, err := open(path)
	if err != nil || !begun {
		if r != nil {
			r.Close()
		}
		return w, nil
	}
	defer r.Close()
	if r.IsRecording() {
		p := r.programs[0]
		p.Member = memberOf(&p, 0)
		w.list, w.lines, w.names[p.Member] = []*Program{&p}, []int{-1}, true
		w.alone, _ = os.Lstat(path)
		return w, nil
	}
	if r.root == nil || r.info.ID != info.ID {
		return nil, fmt.Errorf("%s is another run", path)
	}
	return w, w.takeUp(r)
}

// short is the part of the run's id that is in the name of what becomes its folder.
func (w *Writer) short() string { return w.info.ID[:min(8, len(w.info.ID))] }

// finishGrowing removes what a recorder has left that was killed while it made a folder of the run's file. If the file
// is in that folder only, the folder is the run.
func (w *Writer) finishGrowing() {
	tmp := filepath.Join(filepath.Dir(w.path), temporaryPrefix(w.path)+w.short())
	root, err := os.OpenRoot(tmp)
	if err != nil {
		_ = os.Remove(tmp) // a link to the file, or nothing
		return
	}
	defer root.Close()
	there, err := os.Lstat(w.path)
	if errors.Is(err, fs.ErrNotExist) && os.Rename(tmp, w.path) == nil {
		return
	}
	for member := range (&Run{root: root}).members() {
		if st, err := root.Lstat(member); err == nil && there != nil && os.SameFile(st, there) {
			_ = root.Remove(member)
			_ = root.Remove(filepath.Dir(member))
		}
	}
	for _, name := range []string{membersIn, infoName, indexName} {
		_ = root.Remove(name)
	}
	_ = os.Remove(tmp)
}

// takeUp continues the folder of a run.
func (w *Writer) takeUp(r *Run) (err error) {
	whole := index{}
	if w.index, err = r.root.OpenFile(indexName, os.O_RDWR, 0); err != nil {
		return err
	}
	if held, _ := private.Lock(w.index); held {
		w.index.Close()
		return fmt.Errorf("%s is being recorded", w.path)
	}
	st, err := w.index.Stat()
	if err == nil {
		err = whole.read(w.index, st.Size())
	}
	if err == nil {
		err = w.index.Truncate(whole.length)
	}
	if err != nil {
		w.index.Close()
		return err
	}
	w.at, w.begun = whole.length, len(whole.programs)
	if w.root, err = os.OpenRoot(w.path); err != nil {
		w.index.Close()
		return err
	}
	if w.pack, err = w.root.OpenFile(packName, os.O_RDWR, 0); err == nil {
		if st, err := w.pack.Stat(); err == nil {
			w.packed, _ = readPack(w.pack, st.Size(), func(*entry) error { return nil })
			_ = w.pack.Truncate(w.packed)
		}
	} else {
		w.pack = nil
	}
	// What the index lacks was found by the recordings themselves.
	for i := range r.index.programs {
		p := r.index.programs[i]
		w.names[p.Member] = true
		if i >= len(whole.programs) {
			w.add(&p)
			continue
		}
		w.list, w.lines = append(w.list, &p), append(w.lines, i)
		if old := &whole.programs[i]; old.End != p.End || (old.Packed == nil) != (p.Packed == nil) {
			w.now(i, p)
		}
	}
	return nil
}

// Find returns the number of the program whose recording has an address; -1: the run has none.
func (w *Writer) Find(address string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n, p := range w.list {
		if p.Member != "" && strings.HasSuffix(address, "/"+p.Member) {
			return n
		}
	}
	return -1
}

package run

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/private"
	"golang.org/x/sys/unix"
)

// Writer writes a run while its programs are recorded. Any goroutine may use it.
//
// The run begins as the file of its first recording. A second one makes it a folder: see grow.
type Writer struct {
	mu    sync.Mutex
	path  string
	info  Info
	mode  fs.FileMode // of files
	note  func(text string)
	names map[string]bool
	list  []*Program // by number; without their arguments, once they have ended
	lines []int      // by number: the number in the index; -1: none, because the disk was full

	alone fs.FileInfo // the file of list[0], which is the run; nil: there is none, or the run is a folder

	root   *os.Root // the folder; nil: none yet
	index  *os.File
	at     int64    // length of the index
	begun  int      // programs in it
	over   bool     // its last line says that all is written
	pack   *os.File // nil: none yet
	packed int64    // its length
	failed bool     // that the run cannot become a folder was reported
}

// NewInfo begins the description of a run.
func NewInfo() Info {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return Info{Format: format, ID: hex.EncodeToString(id[:])}
}

// NewWriter returns the writer of a run at path, of which nothing exists yet. mode are the permissions of its files, 0
// stands for 0600; who may read them may also enter its folder. note is called with sentences for the user.
func NewWriter(path string, info Info, mode fs.FileMode, note func(text string)) *Writer {
	return &Writer{path: path, info: info, mode: cmp.Or(mode, 0o600), note: note,
		names: map[string]bool{}}
}

// Path is where the run is. It changes only if somebody else takes the name.
func (w *Writer) Path() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.path
}

// SetTarget notes the target's process id.
func (w *Writer) SetTarget(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.info.Pid = pid
}

// longestCommand bounds the arguments of a program in the index, in bytes.
const longestCommand = 64 << 10

// Create makes a recording at a path, or, if somebody else is in the way, at another one, which it returns. address is
// the recording's.
type Create func(path, address string) (at string, err error)

// Begin adds a program and has its recording made. n is the program's number, which the other methods take; -1: its
// recording is not part of the run. address is the recording's, see OpenRecording.
func (w *Writer) Begin(p Program, create Create) (n int, address string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0
	for i, a := range p.Command {
		if size += len(a) + 1; size > longestCommand {
			p.Command = p.Command[:i]
			break
		}
	}
	p.Member = memberOf(&p, 0)
	for again := 1; w.names[p.Member]; again++ { // two programs of a process within a nanosecond
		p.Member = memberOf(&p, again)
	}
	w.names[p.Member] = true
	if w.root == nil && len(w.list) == 0 {
		return w.first(p, create)
	}
	if err := w.ready(); err != nil {
		if !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) { // which the next recording reports
			w.complain(fmt.Sprintf("%s cannot become a folder (%v); further programs are recorded beside it", w.path,
				err))
		}
		free, err := freeName(w.path)
		if err == nil {
			free, err = create(free, free)
		}
		return -1, free, err
	}
	if err := w.root.MkdirAll(path.Dir(p.Member), w.folderMode()); err != nil {
		return -1, w.path, err
	}
	n = w.add(&p) // first: what is in the folder is in its index
	address = filepath.Join(w.path, p.Member)
	if _, err := create(address, address); err != nil {
		w.now(n, Program{Dropped: true, Failed: true})
		return -1, address, err
	}
	return n, address, nil
}

// first makes the run the recording of its first program.
func (w *Writer) first(p Program, create Create) (n int, address string, err error) {
	if err := w.findPlace(); err != nil {
		return -1, w.path, err
	}
	if err := makeWay(w.path); err != nil {
		return -1, w.path, err
	}
	at, err := create(w.path, filepath.Join(w.path, p.Member))
	if err != nil {
		return -1, w.path, err
	}
	w.path, w.list, w.lines = at, []*Program{&p}, []int{-1}
	w.alone, _ = os.Lstat(at)
	return 0, filepath.Join(at, p.Member), nil
}

// findPlace finds another name for the run if what has its name must stay. A symbolic link stands for what it leads to,
// but that of another user is replaced.
func (w *Writer) findPlace() error {
	to, replaces := private.Follow(w.path)
	w.path = to
	why := ""
	switch err := CheckReplaceable(to); {
	case replaces:
		return nil
	case beingRecorded(to):
		why = fmt.Sprintf("%s is being recorded by another run", to)
	case err != nil:
		why = err.Error()
	default:
		return nil
	}
	free, err := freeName(to)
	if err != nil {
		return err
	}
	w.say("%s; this run is %s", why, free)
	w.path = free
	return nil
}

// ready makes sure that the run is a folder, and where it should be.
func (w *Writer) ready() error {
	if w.root == nil {
		if err := w.grow(); err != nil {
			return err
		}
		if p := w.list[0]; !p.Running() {
			w.tidy(0, Program{End: p.End, Packed: w.keepSmall(p)})
		}
		return nil
	}
	is, err := w.root.Stat(".")
	if err != nil {
		return err
	}
	if st, err := os.Stat(w.path); err == nil && os.SameFile(st, is) {
		return nil
	}
	return w.moveOn()
}

// complain reports something that is said once.
func (w *Writer) complain(text string) {
	if !w.failed {
		w.say("%s", text)
	}
	w.failed = true
}

func (w *Writer) say(format string, args ...any) {
	if w.note != nil {
		w.note(fmt.Sprintf(format, args...))
	}
}

// folderMode are the permissions of folders: who may read files may enter.
func (w *Writer) folderMode() fs.FileMode { return w.mode | w.mode&0o444>>2 | 0o300 }

// add adds a program.
func (w *Writer) add(p *Program) (n int) {
	w.list, w.lines = append(w.list, p), append(w.lines, -1)
	n = len(w.list) - 1
	w.enter(n)
	return n
}

// enter writes a program to the index, and reports whether it is in it.
func (w *Writer) enter(n int) bool {
	if w.lines[n] < 0 && w.append(indexLine{Begin: w.list[n]}) {
		w.lines[n] = w.begun
		w.begun++
	}
	return w.lines[n] >= 0
}

// append appends a line to the index, and reports whether it could.
func (w *Writer) append(l indexLine) bool {
	line, err := encodeLine(l)
	if err == nil {
		_, err = w.index.WriteAt(line, w.at)
	}
	if err != nil { // the disk is full: readers find in the recordings what the index lacks, and say so
		_ = w.index.Truncate(w.at)
		return false
	}
	w.at += int64(len(line))
	w.over = false
	return true
}

// Update notes how much memory a program has used so far.
func (w *Writer) Update(n int, peakLive, peakResident int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case n < 0:
	case w.root == nil:
		w.list[n].PeakLive, w.list[n].PeakResident = peakLive, peakResident
	default:
		w.now(n, Program{PeakLive: peakLive, PeakResident: peakResident})
	}
}

// End notes how a program has ended, whose recording is complete, and puts a small recording into the pack. Of end, the
// fields that say what the program was do not count. putBack makes sure that the recording is at a path: if somebody
// has removed it there, it puts it back, there or at a path that it returns. The recording's address is returned.
func (w *Writer) End(n int, end Program, putBack func(path string) (at string, err error)) (address string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < 0 {
		return putBack("")
	}
	p := w.list[n]
	p.end(&end)
	if w.root == nil {
		at, err := putBack(w.path)
		w.path = at
		w.alone, _ = os.Lstat(at)
		p.Levels = end.levels(at)
		return filepath.Join(at, p.Member), err
	}
	_ = w.ready() // if there can be no folder, putBack finds a place
	address = filepath.Join(w.path, p.Member)
	at, err := putBack(address)
	if rel, e := filepath.Rel(w.path, at); e == nil && rel != p.Member && memberForm().MatchString(rel) {
		p.Member, end.Member, address = rel, rel, at
	}
	end.Levels = end.levels(at)
	p.Levels = end.Levels // the pack has them, too
	end.Packed = w.keepSmall(p)
	w.tidy(n, end)
	return address, err
}

// levels returns the levels of a program that has ended, whose recording is at a path.
func (p *Program) levels(path string) Levels {
	if p.Levels != nil {
		return p.Levels
	}
	return readLevels(path)
}

// tidy notes the end of a program, and removes what is not needed any more.
func (w *Writer) tidy(n int, end Program) {
	p := w.list[n]
	if !w.now(n, end) { // the recording stays, and says all that there is to say
		return
	}
	if end.Packed != nil {
		_ = w.root.Remove(p.Member)
	}
	p.Exe, p.Command, p.Folder, p.Levels = "", nil, "", nil
}

// Address is where the recording of a program is, see OpenRecording.
func (w *Writer) Address(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n < 0 {
		return w.path
	}
	return filepath.Join(w.path, w.list[n].Member)
}

// Drop removes a program, whose recording is not kept.
func (w *Writer) Drop(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case n < 0:
	case w.root == nil:
		w.alone, w.list, w.lines = nil, nil, nil
	default:
		_ = w.root.Remove(w.list[n].Member)
		w.now(n, Program{Dropped: true})
	}
}

// Complete says that all programs have ended and all is written, until another one begins.
func (w *Writer) Complete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complete()
}

func (w *Writer) complete() {
	if w.root == nil || w.over {
		return
	}
	folders, _ := fs.ReadDir(w.root.FS(), membersIn)
	for _, f := range folders {
		if f.IsDir() { // it is empty if all of its recordings are in the pack
			_ = w.root.Remove(path.Join(membersIn, f.Name()))
		}
	}
	w.over = w.append(indexLine{Over: true})
}

// Close ends the writing.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.root == nil {
		return
	}
	w.complete()
	w.index.Close()
	if w.pack != nil {
		w.pack.Close()
	}
	w.root.Close()
}

// now writes what has changed of a program, and reports whether it could.
func (w *Writer) now(n int, p Program) bool {
	p.Pid = w.list[n].Pid
	text, err := json.Marshal(&p)
	if err != nil || !w.enter(n) {
		return false
	}
	return w.append(indexLine{N: &w.lines[n], Now: text})
}

// end takes over what the end of a program says.
func (p *Program) end(e *Program) {
	p.End, p.Exit, p.Lost, p.Events, p.Leaked = e.End, e.Exit, e.Lost, e.Events, e.Leaked
	p.PeakLive, p.PeakResident, p.Static = e.PeakLive, e.PeakResident, e.Static
	p.Label = cmp.Or(e.Label, p.Label)
}

// keepSmall copies a small recording into the pack; nil: it stays a file.
func (w *Writer) keepSmall(p *Program) *Place {
	f, err := regularIn(w.root, p.Member)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() >= SmallSize {
		return nil
	}
	content := make([]byte, st.Size())
	if _, err := f.ReadAt(content, 0); err != nil {
		return nil
	}
	head, err := encodeEntry(entryProgram, p, st.Size())
	if err != nil {
		return nil
	}
	if w.pack == nil {
		if w.pack, err = w.make(w.root, packName); err != nil {
			return nil
		}
		if _, err := w.pack.WriteAt([]byte(packMagic), 0); err != nil {
			w.pack.Close()
			_ = w.root.Remove(packName)
			w.pack = nil
			return nil
		}
		w.packed = int64(len(packMagic))
	}
	if _, err := w.pack.WriteAt(append(head, content...), w.packed); err != nil { // a full disk: the file stays
		_ = w.pack.Truncate(w.packed)
		return nil
	}
	place := &Place{w.packed + int64(len(head)), st.Size()}
	w.packed += int64(len(head)) + st.Size()
	return place
}

// grow makes the run, which is the file of one recording, a folder of the same name. Whenever the process is killed,
// there is something at the name that can be opened, except on file systems that can neither link nor exchange files:
// there, for a moment, the name is missing.
func (w *Writer) grow() (err error) {
	tmp := filepath.Join(filepath.Dir(w.path), temporaryPrefix(w.path)+w.short())
	err = os.MkdirAll(filepath.Dir(tmp), 0o777) // the folder that it is in may have been removed
	if err == nil {
		err = os.Mkdir(tmp, 0o700)
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(tmp)
	if err != nil {
		os.Remove(tmp)
		return err
	}
	defer func() {
		if err != nil {
			w.abandon(root, tmp)
		}
	}()
	if err := w.furnish(root); err != nil {
		return err
	}
	w.enter(0)
	dir := path.Dir(w.list[0].Member)
	if err := root.MkdirAll(dir, w.folderMode()); err != nil {
		return err
	}
	in, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := w.put(tmp, int(in.Fd()), path.Base(w.list[0].Member)); err != nil {
		return err
	}
	w.root, w.alone = root, nil
	return nil
}

// linksWork is false in tests of file systems that can neither link nor exchange files.
var linksWork = true

// put puts the run's only recording into the folder tmp, as name in the folder's part fd, and the folder at its place.
func (w *Writer) put(tmp string, fd int, name string) error {
	if st, err := os.Lstat(w.path); err != nil || !w.isAlone(st) {
		// Somebody has removed it or put another file there. Whoever writes it will put it back.
		return w.settle(tmp)
	}
	if linksWork && unix.Linkat(unix.AT_FDCWD, w.path, fd, name, 0) == nil {
		if unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, w.path, unix.RENAME_EXCHANGE) == nil {
			// What was there has the folder's old name now.
			if st, err := os.Lstat(tmp); err == nil && w.isAlone(st) {
				_ = os.Remove(tmp)
				return nil
			}
			if free, err := freeName(w.path); err == nil {
				return os.Rename(tmp, free)
			}
			return nil
		}
		if err := unix.Unlinkat(fd, name, 0); err != nil {
			return err
		}
	}
	if err := unix.Renameat(unix.AT_FDCWD, w.path, fd, name); err != nil {
		return err
	}
	if err := os.Rename(tmp, w.path); err != nil {
		_ = unix.Renameat(fd, name, unix.AT_FDCWD, w.path)
		return err
	}
	return nil
}

// isAlone reports whether a file is the run's only recording. While that is being written, no other file can have its
// number; later one can.
func (w *Writer) isAlone(st fs.FileInfo) bool {
	return w.alone != nil && os.SameFile(st, w.alone) && (w.list[0].Running() ||
		st.Size() == w.alone.Size() && st.ModTime().Equal(w.alone.ModTime()))
}

// settle gives the folder tmp the run's name, or one that is free.
func (w *Writer) settle(tmp string) error {
	free, err := freeName(w.path)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, free); err != nil {
		return err
	}
	if free != w.path {
		w.say("%s was replaced while programs were being recorded; the run is %s", w.path, free)
	}
	w.path = free
	return nil
}

// abandon removes what was made of a folder: nothing but that, and no recording.
func (w *Writer) abandon(root *os.Root, at string) {
	if w.index != nil {
		w.index.Close()
	}
	w.index, w.at, w.begun, w.lines[0] = nil, 0, 0, -1
	for _, name := range []string{infoName, indexName, path.Dir(w.list[0].Member), membersIn} {
		_ = root.Remove(name)
	}
	_ = root.Close()
	_ = os.Remove(at)
}

// furnish makes the files of an empty folder: what the run is, and an index with what is in the earlier one.
func (w *Writer) furnish(root *os.Root) error {
	text, err := json.MarshalIndent(w.info, "", "  ")
	if err != nil {
		return err
	}
	if dir, err := root.Open("."); err == nil {
		_ = private.GiveToCaller(dir)
		_ = dir.Chmod(w.folderMode())
		dir.Close()
	}
	info, err := w.make(root, infoName)
	if err != nil {
		return err
	}
	_, err = info.Write(append(text, '\n'))
	if err := errors.Join(err, info.Close()); err != nil {
		return err
	}
	index, err := w.make(root, indexName)
	if err != nil {
		return err
	}
	_, _ = private.Lock(index) // without it, readers cannot tell that the run is being recorded
	if w.index != nil {
		if _, err := io.Copy(index, io.NewSectionReader(w.index, 0, w.at)); err != nil {
			index.Close()
			return err
		}
		w.index.Close()
	}
	w.index = index
	return nil
}

// make creates a file in the folder.
func (w *Writer) make(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, w.mode)
	if err != nil {
		return nil, err
	}
	_ = private.GiveToCaller(f)
	_ = f.Chmod(w.mode)
	return f, nil
}

// moveOn makes a new folder: somebody has moved or removed the one that there was. What is recorded from now on, and
// what is being recorded, will be in the new one.
func (w *Writer) moveOn() error {
	old := w.path
	if err := os.MkdirAll(filepath.Dir(old), 0o777); err != nil {
		return err
	}
	free, err := freeName(old)
	if err != nil {
		return err
	}
	if err := os.Mkdir(free, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(free)
	if err != nil {
		return err
	}
	pack, err := w.copyPack(root)
	if err == nil {
		err = w.furnish(root)
	}
	if err != nil { // the next program tries again
		if pack != nil {
			pack.Close()
		}
		for _, name := range []string{packName, infoName, indexName} {
			_ = root.Remove(name)
		}
		root.Close()
		_ = os.Remove(free)
		return err
	}
	if pack != nil {
		w.pack.Close()
		w.pack = pack
	}
	w.root.Close()
	w.root, w.path = root, free
	w.say("%s was moved or removed while programs were being recorded; the run goes on in %s", old, free)
	return nil
}

// copyPack copies the pack into a folder; nil: there is none.
func (w *Writer) copyPack(to *os.Root) (*os.File, error) {
	if w.pack == nil {
		return nil, nil
	}
	pack, err := w.make(to, packName)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(pack, io.NewSectionReader(w.pack, 0, w.packed)); err != nil {
		pack.Close()
		return nil, err
	}
	return pack, nil
}

// freeName returns a path, or that with a number before its ending, at which there is nothing.
func freeName(path string) (string, error) {
	stem, ending := strings.TrimSuffix(path, ".htap"), ""
	if stem != path {
		ending = ".htap"
	}
	for i := 2; i < 10000; i++ {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
		path = stem + "." + strconv.Itoa(i) + ending
	}
	return "", fmt.Errorf("all names up to %s are taken", path)
}

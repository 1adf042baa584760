package record

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/private"
	"golang.org/x/sys/unix"
)

// census finds out which spools are mapped by anybody, and whether somebody may be about to make one. Reading every
// process's maps takes a while, so it is done beside the drain, and only while somebody asks.
type census struct {
	dir    string
	before map[int]bool // processes older than the run: none of them is the run's
	ring   func()       // tells whoever asks that there was a look
	// Of root's run: the processes that it has started. Others can map files of whatever name, and name the run in their environment.
	family *family
	folder *private.Folder

	mu      sync.Mutex
	wake    chan struct{}
	began   time.Time        // of the latest complete look
	again   time.Time        // of the one before it
	inodes  map[uint64][]int // processes that map a spool
	inodes2 map[uint64][]int
	young   bool // a process that has just begun carries the run's environment
	young2  bool
	missed  map[int]string // processes of the run that are not recorded: what is to be said of each
	untold  []string       // of these, what was not said yet
}

func newCensus(dir string) *census {
	c := &census{dir: dir, before: map[int]bool{}, missed: map[int]string{}, wake: make(chan struct{}, 1), ring: func() {}}
	for _, pid := range pids() {
		c.before[pid] = true
	}
	return c
}

// ask wants a fresh look.
func (c *census) ask() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// mapped says whether a spool is mapped by anybody, as far as two looks since a moment can tell: a process may be
// forked while one look is under way. Without two such looks the answer is yes.
func (c *census) mapped(inode uint64, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.again.After(since) {
		c.ask()
		return true
	}
	if len(c.inodes[inode])+len(c.inodes2[inode]) > 0 {
		c.ask()
		return true
	}
	return false
}

// mappers returns the processes, by their ids here, that a look since a moment has seen to map a spool.
func (c *census) mappers(inode uint64, since time.Time) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.began.After(since) {
		c.ask()
		return nil
	}
	return c.inodes[inode]
}

// quiet says whether two looks since a moment have found no spool mapped and nobody who may make one.
func (c *census) quiet(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.again.After(since) {
		c.ask()
		return false
	}
	if len(c.inodes)+len(c.inodes2) > 0 || c.young || c.young2 {
		c.ask()
		return false
	}
	return true
}

// serve looks when asked to, twice in a row, since whoever asks wants two looks: at a tenth of the time at most.
func (c *census) serve(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-c.wake:
		}
		first := time.Now()
		for range 2 {
			began := time.Now()
			inodes, young := c.look()
			c.mu.Lock()
			c.again, c.began = c.began, began
			c.inodes2, c.inodes = c.inodes, inodes
			c.young2, c.young = c.young, young
			c.mu.Unlock()
		}
		c.ring()
		select {
		case <-stop:
			return
		case <-time.After(max(10*time.Millisecond, min(9*time.Since(first), time.Second))):
		}
	}
}

// maxLists bounds how often a look lists the processes, where others than the run's come and go all the time.
const maxLists = 32

// look looks at all processes, until a list of them has nobody new who is the run's or has gone: who forks and ends before his turn comes
// has a child by then.
func (c *census) look() (inodes map[uint64][]int, young bool) {
	inodes = map[uint64][]int{}
	self := os.Getpid()
	seen, here := map[int]bool{self: true}, map[int]bool{}
	more := true
	for n := 0; more && n < maxLists; n++ {
		more = false
		for _, pid := range pids() {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if c.before[pid] {
				here[pid] = true
				continue
			}
			ours, soon := c.visit(pid, inodes)
			more, young = more || ours, young || soon
		}
	}
	// A process that has ended leaves its number to a new one.
	c.before = here
	return inodes, young
}

// visit adds the spools that a process maps. It returns whether the process is the run's, or has gone and may have been, and whether it may
// be about to make a spool.
func (c *census) visit(pid int, inodes map[uint64][]int) (ours, soon bool) {
	dir := []byte(c.dir + "/")
	maps, err := readProc(pid, "maps")
	if err != nil || !bytes.Contains(maps, dir) {
		gone := len(maps) == 0
		old := age(pid) >= 2*time.Second
		if old && !bytes.Contains(maps, []byte(agentFile)) {
			return gone, false
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		soon = (err == nil && bytes.Contains(env, []byte("HEAPTAP_RUN="+c.dir+"\x00")) || executing(pid)) && c.related(pid)
		if old {
			if soon && !steppedAside(env) {
				c.miss(pid)
			}
			return gone, false
		}
		return gone || soon || len(env) == 0, soon
	}
	if !c.related(pid) && !c.mapsSpool(maps) {
		return false, false
	}
	for n := range c.spoolsIn(maps) {
		if l := inodes[n]; len(l) == 0 || l[len(l)-1] != pid { // it has many lines
			inodes[n] = append(l, pid)
		}
	}
	return true, false
}

// spoolsIn yields the inodes and devices of what is mapped from the run's folder, as its name says. An inode may come many times.
func (c *census) spoolsIn(maps []byte) iter.Seq2[uint64, string] {
	dir := []byte(c.dir + "/")
	return func(yield func(uint64, string) bool) {
		for line := range bytes.Lines(maps) {
			f := bytes.Fields(line)
			if len(f) < 6 || !bytes.HasPrefix(f[5], dir) || !bytes.Contains(f[5], []byte(".spool")) {
				continue
			}
			if n, err := strconv.ParseUint(string(f[4]), 10, 64); err == nil && !yield(n, string(f[3])) {
				return
			}
		}
	}
}

// agentFile is how the agent's library is called, wherever it lies.
const agentFile = "/libheaptap.so"

// steppedAside says whether a process may have an agent and no spool because the user has chosen so.
func steppedAside(env []byte) bool {
	for _, name := range []string{"HEAPTAP_CHILDREN=", "HEAPTAP_EXE=", "HEAPTAP_RANKS="} {
		if bytes.HasPrefix(env, []byte(name)) || bytes.Contains(env, []byte("\x00"+name)) {
			return true
		}
	}
	return false
}

// mostMissed bounds how many processes are named that are not recorded.
const mostMissed = 20

// miss notes a process of the run that has an agent and no spool.
func (c *census) miss(pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.missed[pid]; known || len(c.missed) >= mostMissed {
		return
	}
	why := "it has heaptap's agent, which could not reach the run's folder or the recorder"
	if root, err := os.Stat(fmt.Sprintf("/proc/%d/root/.", pid)); err == nil {
		if here, err := os.Stat("/"); err == nil && !os.SameFile(root, here) {
			why = "it has another root folder"
		}
	}
	c.missed[pid] = fmt.Sprintf("process %d%s is not recorded: %s", pid, nameOf(pid), why)
	c.untold = append(c.untold, c.missed[pid])
}

// tellMissed returns sentences about processes that are not recorded, each once.
func (c *census) tellMissed() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, c.untold = c.untold, nil
	return list
}

// related says whether a process may be the run's, as far as others could pretend that: root's own processes have no need to.
func (c *census) related(pid int) bool {
	return c.family == nil || isRoot(pid) || c.family.has(pid)
}

// isRoot says whether a process is root's in every respect. (What owns its folder in /proc does not tell.)
func isRoot(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(b, []byte("\nUid:\t"))
	uids, _, _ := bytes.Cut(rest, []byte("\n"))
	return ok && string(uids) == "0\t0\t0\t0"
}

// mapsSpool says whether a file that a process maps does lie in the run's folder, and not only bears such a name.
func (c *census) mapsSpool(maps []byte) bool {
	own, _ := os.ReadFile("/proc/self/maps")
	var st unix.Stat_t
	if unix.Fstat(c.folder.FD(), &st) != nil {
		return false
	}
	device := fmt.Sprintf("%02x:%02x", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)))
	for _, d := range c.spoolsIn(own) {
		device = d // some file systems have another device there
	}
	names, _ := c.folder.Names()
	for inode, d := range c.spoolsIn(maps) {
		for _, name := range names {
			if d == device && unix.Fstatat(c.folder.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Ino == inode {
				return true
			}
		}
	}
	return false
}

func pids() (list []int) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// executing says whether a process is in the midst of executing a program, so that its environment is not to be seen yet. On a busy
// machine that may take long.
func executing(pid int) bool {
	const environEnd = 51 // proc(5): env_end in stat; 0 until it is laid out
	f, ok := statFields(pid)
	if !ok || len(f) <= environEnd-3 || f[environEnd-3] != "0" {
		return false
	}
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // threads of the kernel, and who ends, have none
	return err == nil
}

// statFields returns what /proc says of a process, from its state (the third field in proc(5)) on. False if that is not known, or the
// process has ended.
func statFields(pid int) ([]string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	_, rest, ok := strings.Cut(string(b[max(0, bytes.LastIndexByte(b, ')')):]), " ")
	f := strings.Fields(rest)
	return f, ok && len(f) >= 20 && f[0] != "Z" && f[0] != "X"
}

// age returns how long ago a process was forked; a long time if that cannot be told. A zombie maps nothing and makes
// nothing any more.
func age(pid int) time.Duration {
	const long = 1 << 62
	f, ok := statFields(pid)
	if !ok {
		return long
	}
	ticks, err := strconv.ParseInt(f[19], 10, 64)
	var up unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return long
	}
	return time.Duration(up.Nano()) - time.Duration(ticks)*(time.Second/100)
}

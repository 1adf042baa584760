package procs

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/private"
	"golang.org/x/sys/unix"
)

// Census finds out which spools are mapped by any process, and whether a process may be about to make one. Reading the
// maps of every process takes a while, so it is done beside the drain, and only on request. Its methods may be called
// from any goroutine.
type Census struct {
	dir    string
	folder *private.Folder
	before map[int]bool // processes older than the run: none of them is part of it
	ring   func()       // called after each look
	// Of root's run: the processes that it has started. Others can map files of whatever name, and name the run in
	// their environment.
	family *Family

	mu         sync.Mutex
	wake       chan struct{}
	wanted     time.Time        // looks that have begun after it are all that was asked for
	began      time.Time        // of the latest complete look
	again      time.Time        // of the one before it
	inodes     map[uint64][]int // processes that map a spool
	inodes2    map[uint64][]int
	young      bool // a process that has just begun carries the run's environment
	young2     bool
	suspects   map[int]suspect // processes of the run that have an agent and no spool
	missed     map[int]string  // those of them that will have none: a sentence about each
	unreported []string        // of these, what Missed has not returned yet
}

// NewCensus notes which processes there are: none of them is part of the run. family is nil unless root records. ring
// is called after each look.
func NewCensus(folder *private.Folder, family *Family, ring func()) *Census {
	c := &Census{
		dir: folder.Path(), folder: folder, family: family, ring: ring,
		before: map[int]bool{}, suspects: map[int]suspect{}, missed: map[int]string{},
		wake: make(chan struct{}, 1),
	}
	for _, pid := range pids() {
		c.before[pid] = true
	}
	return c
}

// Ask wants fresh looks.
func (c *Census) Ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ask(time.Now())
}

// ask wants looks that begin after a moment.
func (c *Census) ask(since time.Time) {
	if since.After(c.wanted) {
		c.wanted = since
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Mapped says whether a spool is mapped by anybody, as far as two looks since a moment show: a process may be
// forked while one look is under way. Without two such looks the answer is yes.
func (c *Census) Mapped(inode uint64, since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.again.After(since) {
		c.ask(since)
		return true
	}
	if len(c.inodes[inode])+len(c.inodes2[inode]) > 0 {
		c.ask(time.Now())
		return true
	}
	return false
}

// Mappers returns the processes, by their ids here, that a look since a moment has seen to map a spool.
func (c *Census) Mappers(inode uint64, since time.Time) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.began.After(since) {
		c.ask(since)
		return nil
	}
	return c.inodes[inode]
}

// Quiet says whether two scans since a moment have found no spool mapped and no process that may make one.
func (c *Census) Quiet(since time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.again.After(since) {
		c.ask(since)
		return false
	}
	if len(c.inodes)+len(c.inodes2) > 0 || c.young || c.young2 {
		c.ask(time.Now())
		return false
	}
	return true
}

// Serve looks when asked to, until stop is closed. It looks twice in a row, since callers want two looks, and spends at
// most a tenth of the time on it.
func (c *Census) Serve(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-c.wake:
		}
		first := time.Now()
		for range 2 {
			c.Look()
		}
		c.answered()
		c.ring()
		select {
		case <-stop:
			return
		case <-time.After(max(10*time.Millisecond, min(9*time.Since(first), time.Second))):
		}
	}
}

// answered drops what was asked for while the latest two looks were under way, if they are what was asked for.
func (c *Census) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.again.After(c.wanted) {
		select {
		case <-c.wake:
		default:
		}
	}
}

// Look looks at all processes once.
func (c *Census) Look() {
	began := time.Now()
	inodes, young := c.scan()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again, c.began = c.began, began
	c.inodes2, c.inodes = c.inodes, inodes
	c.young2, c.young = c.young, young
	maps.DeleteFunc(c.suspects, func(_ int, s suspect) bool { return s.last.Before(began) })
}

// maxLists bounds how often a look lists the processes, where processes of others come and go all the time.
const maxLists = 32

// scan looks at all processes, until a list of them has no new process that is part of the run or has ended: a process
// that forks and ends before its turn comes has a child by then.
func (c *Census) scan() (inodes map[uint64][]int, young bool) {
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
			ours, soon := c.inspect(pid, inodes)
			more, young = more || ours, young || soon
		}
	}
	// A process that has ended leaves its number to a new one.
	c.before = here
	return inodes, young
}

// inspect adds the spools that a process maps. It returns whether the process is part of the run, or has ended and may
// have been part of it, and whether it may be about to make a spool.
func (c *Census) inspect(pid int, inodes map[uint64][]int) (ours, soon bool) {
	dir := []byte(c.dir + "/")
	maps, err := readProc(pid, "maps")
	if err != nil || !bytes.Contains(maps, dir) {
		gone := len(maps) == 0
		old := age(pid) >= patience
		if old && !bytes.Contains(maps, []byte(agentFile)) {
			return gone, false
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		carries := err == nil && bytes.Contains(env, []byte("HEAPTAP_RUN="+c.dir+"\x00"))
		soon = (carries || executing(pid)) && c.related(pid)
		if old {
			if soon && !steppedAside(env) {
				return gone, !c.miss(pid, maps)
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

// spoolsIn yields the inodes and devices of what is mapped from the run's folder, judged by name. An inode may come
// many times.
func (c *Census) spoolsIn(maps []byte) iter.Seq2[uint64, string] {
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

// agentFile is the name of the agent's library, wherever it lies.
const agentFile = "/libheaptap.so"

// steppedAside says whether a process may have an agent and no spool because the user has excluded it.
func steppedAside(env []byte) bool {
	for _, name := range []string{"HEAPTAP_CHILDREN=", "HEAPTAP_EXE=", "HEAPTAP_RANKS="} {
		if bytes.HasPrefix(env, []byte(name)) || bytes.Contains(env, []byte("\x00"+name)) {
			return true
		}
	}
	return false
}

// mostMissed bounds how many processes are named in notes that they are not recorded.
const mostMissed = 20

// suspect is a process that has an agent and no spool.
type suspect struct {
	since, last time.Time // when it was first and last seen so
	image       string    // its first mapping, which is elsewhere after the next exec
}

// patience is how long a process may take, from its exec, to make its spool.
const patience = 2 * time.Second

// miss notes a process of the run that has an agent and no spool. The process may be old and have executed another
// program a moment ago: only one that stays as it is for a while is missed. It returns whether that is known.
func (c *Census) miss(pid int, mappings []byte) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.missed[pid]; known || len(c.missed) >= mostMissed {
		return true
	}
	image, _, _ := bytes.Cut(mappings, []byte("\n"))
	now := time.Now()
	s := c.suspects[pid]
	if s.image != string(image) {
		s = suspect{since: now, image: string(image)}
	}
	s.last = now
	c.suspects[pid] = s
	if now.Sub(s.since) < patience {
		return false
	}
	why := "it has heaptap's agent, which could not reach the run's folder or the recorder"
	if root, err := os.Stat(fmt.Sprintf("/proc/%d/root/.", pid)); err == nil {
		if here, err := os.Stat("/"); err == nil && !os.SameFile(root, here) {
			why = "it has another root folder"
		}
	}
	c.missed[pid] = fmt.Sprintf("process %d%s is not recorded: %s", pid, nameOf(pid), why)
	c.unreported = append(c.unreported, c.missed[pid])
	return true
}

// Missed returns sentences about processes that are not recorded, each once.
func (c *Census) Missed() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, c.unreported = c.unreported, nil
	return list
}

// related says whether a process may be part of the run. Others could pretend that; root's own processes have no reason
// to.
func (c *Census) related(pid int) bool {
	return c.family == nil || isRoot(pid) || c.family.Has(pid)
}

// isRoot says whether all of a process's user ids are root's. (The owner of its folder in /proc does not say so.)
func isRoot(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(b, []byte("\nUid:\t"))
	uids, _, _ := bytes.Cut(rest, []byte("\n"))
	return ok && string(uids) == "0\t0\t0\t0"
}

// mapsSpool says whether a file that a process maps really is in the run's folder, and does not only have such a name.
func (c *Census) mapsSpool(maps []byte) bool {
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
			if d == device && unix.Fstatat(c.folder.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil &&
				st.Ino == inode {
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

// executing says whether a process is in the middle of execve, when its environment cannot be read yet. On a busy
// machine that may take long.
func executing(pid int) bool {
	const environEnd = 51 // proc(5): env_end in stat; 0 until it is laid out
	f, ok := statFields(pid)
	if !ok || len(f) <= environEnd-3 || f[environEnd-3] != "0" {
		return false
	}
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) // kernel threads, and processes that end, have none
	return err == nil
}

// statFields returns the fields of a process's stat file, from its state (the third field in proc(5)) on. False if they
// cannot be read, or the process has ended.
func statFields(pid int) ([]string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	_, rest, ok := strings.Cut(string(b[max(0, bytes.LastIndexByte(b, ')')):]), " ")
	f := strings.Fields(rest)
	return f, ok && len(f) >= 20 && f[0] != "Z" && f[0] != "X"
}

// age returns how long ago a process was forked; a long time if that is not known. A zombie maps nothing and makes
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

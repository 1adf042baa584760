package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/spelling"
)

// Bounds of the recordings that are open for questions at a time: how many they are, and about how many bytes they
// take with their atlases, unless more are in use. With what all caches keep (lru.Process), the program itself, and
// what a large question needs for a moment, these are 300 MB.
const (
	maxOpen      = 12 // those of a comparison, and one for each other worker
	maxOpenBytes = 112 << 20
)

// shelf holds the recordings of a session. Those that were asked last are open.
type shelf struct {
	finder *input.Finder
	// every is how often a recording that is still being written is looked at again, at most.
	every time.Duration
	code  owncode.Rules // whose code functions are
	// made is called for each recording that was opened; nil: by nobody.
	made func(o *opened)

	some       chan struct{} // closed once a run has been read, or none can be
	ready      chan struct{} // closed once all have been; the next four are not changed afterwards
	failed     error         // why none could be read
	unreadable []Unreadable  // what could not be
	sets       []*runSet
	found      []*input.Found // to be closed in the end

	openings flights[*entry, *opened]
	tables   tables

	mu   sync.Mutex
	byID map[string]*entry
	open []*opened // the least recently used first; also those that are being replaced
	next int       // how many are being opened
	sent sent
}

// runSet is a run with the recordings of its programs.
type runSet struct {
	arg  string // by which the finder finds it; "": the last run made here
	temp bool   // it was converted, and does not change

	mu      sync.Mutex
	run     *run.Run
	read    time.Time // when
	entries []*entry  // by program
}

// entry is a recording.
type entry struct {
	id  string
	set *runSet

	// Under the shelf's lock.
	now        *opened // nil: it is not open
	generation uint64
	size       int64  // when it was last opened
	identity   string // then
	about      *About // then; nil: it was never open
}

// opened is a recording that is open for questions.
type opened struct {
	entry      *entry
	source     *query.Source
	identity   string
	generation uint64
	bytes      int           // about how many it takes
	checked    time.Time     // when it was known to be current
	atlas      atomic.Uint32 // its state
	atlasBytes int64
	users      int
	stale      bool // it is closed once nobody uses it

	filesOnce   sync.Once
	fileList    []string
	foldOnce    sync.Once
	foldPattern string
}

// folded is the recording's FoldPattern, which takes a look at every function.
func (o *opened) folded() string {
	o.foldOnce.Do(func() { o.foldPattern = o.source.Profile.FoldPattern() })
	return o.foldPattern
}

// files are the recording's source files: their indexes are their numbers.
func (o *opened) files() []string {
	o.filesOnce.Do(func() { o.fileList = filesOf(o.source) })
	return o.fileList
}

// newShelf finds the runs that arguments stand for. It returns an error if there is nothing of any of these names, or
// if it soon turns out that none of them can be read: at once, if one begins as a recording does. Reading what there is
// goes on until the background's context ends.
func newShelf(ctx, background context.Context, finder *input.Finder, args []string) (*shelf, error) {
	if len(args) == 0 {
		last, err := input.LastRun()
		if err != nil {
			return nil, err
		}
		args = []string{last}
	}
	s := &shelf{finder: finder, every: time.Second, byID: map[string]*entry{}, some: make(chan struct{}),
		ready: make(chan struct{})}
	s.openings.landed = s.hand
	sure := true
	for _, arg := range args {
		sure = sure && input.Exists(arg)
	}
	if sure {
		go s.load(background, args)
		if slices.ContainsFunc(args, input.IsRecording) {
			return s, nil
		}
		patience := time.NewTimer(slow)
		defer patience.Stop()
		select {
		case <-s.some:
		case <-patience.C:
			return s, nil
		}
	} else {
		s.load(ctx, args)
	}
	select {
	case <-s.ready:
		if s.failed != nil {
			s.close()
			return nil, s.failed
		}
	default:
	}
	return s, nil
}

// load reads the runs. Those that cannot be read do not keep the others from being served.
func (s *shelf) load(ctx context.Context, args []string) {
	read := sync.OnceFunc(func() { close(s.some) })
	var errs []error
	for _, arg := range args {
		before := len(s.sets)
		if err := s.add(ctx, arg); err != nil {
			errs = append(errs, err)
			s.unreadable = append(s.unreadable, newUnreadable(arg, err))
		}
		if len(args) > 1 { // they would take memory until somebody asks
			for _, set := range s.sets[before:] {
				_ = set.run.LetGo() // nothing was written
			}
		}
		if len(s.sets) > 0 {
			read()
		}
	}
	if len(s.sets) == 0 {
		s.failed = errors.Join(errs...)
	} else {
		s.say(errs)
	}
	close(s.ready)
	read()
}

// say tells the user, in the terminal, what is not served.
func (s *shelf) say(errs []error) {
	for _, err := range errs {
		if s.finder.Say != nil {
			s.finder.Say(err.Error() + "; the other recordings are shown")
		}
	}
}

// newUnreadable says what is wrong with what the user named.
func newUnreadable(arg string, err error) Unreadable {
	u := Unreadable{Argument: arg, What: err.Error(), Do: "heaptap verify says what is wrong with a recording, and " +
		"heaptap repair saves what is left of it"}
	if _, missing := os.Stat(arg); missing != nil {
		u.Do = "start heaptap again with the right path; heaptap runs lists the runs in a folder"
	}
	return u
}

// wait waits until the runs have been read.
func (s *shelf) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return s.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add adds what an argument stands for: a run, or a file that is converted.
func (s *shelf) add(ctx context.Context, arg string) error {
	r, failed := s.finder.Run(arg)
	if failed == nil {
		s.addRun(&runSet{arg: arg, run: r, read: time.Now()})
		return nil
	}
	found, err := s.finder.Find(ctx, arg)
	if err != nil {
		return err
	}
	s.found = append(s.found, found)
	for i := range found.Recordings {
		if found.Recordings[i].Path == "" {
			return failed
		}
		r, err := run.Open(found.Recordings[i].Path)
		if err != nil {
			return err
		}
		s.addRun(&runSet{arg: arg, temp: true, run: r, read: time.Now()})
	}
	return nil
}

func (s *shelf) addRun(set *runSet) {
	s.sets = append(s.sets, set)
	s.enter(set)
}

// enter makes entries of a run's programs. Those that are known stay.
func (s *shelf) enter(set *runSet) {
	programs := set.run.Programs()
	set.entries = make([]*entry, len(programs))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range programs {
		p := &programs[i]
		at, err := filepath.Abs(set.run.Path())
		if err != nil {
			at = set.run.Path()
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d", at, p.Pid, p.Start.UnixNano(), p.Exec))
		// Short, and longer where two are alike.
		for n := 4; ; n++ {
			id := hex.EncodeToString(sum[:n])
			e := s.byID[id]
			if e != nil && e.set != set && n < len(sum) {
				continue
			}
			if e == nil {
				e = &entry{id: id, set: set}
				s.byID[id] = e
			}
			set.entries[i] = e
			break
		}
	}
}

// refresh reads the run again if a recorder still writes it.
func (s *shelf) refresh(set *runSet) {
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.temp || !set.run.Live() || time.Since(set.read) < s.every {
		return
	}
	set.read = time.Now()
	again, err := s.finder.Run(set.arg)
	if err != nil {
		return // what was read before is still true
	}
	if again.Info().ID != set.run.Info().ID {
		again.Close() // the last run made here is another one by now
		return
	}
	set.run.Close()
	set.run = again
	s.enter(set)
}

// describe describes the run, with its programs in order of start; with how their memory developed, if that is wanted.
func (set *runSet) describe(ctx context.Context, levels bool) (*answer.Run, error) {
	set.mu.Lock()
	a, path := answer.NewRun(set.run), set.run.Path()
	set.mu.Unlock()
	if !levels {
		return a, nil
	}
	r, err := run.Open(path) // its own: the levels of programs that still run are read from their recordings
	if err != nil {
		return nil, err
	}
	defer r.Close()
	a = answer.NewRun(r)
	list, err := r.Levels(ctx)
	if list == nil && err != nil {
		return nil, err
	}
	a.AddLevels(list, err)
	return a, nil
}

// session describes all runs.
func (s *shelf) session(ctx context.Context) ([]SessionRun, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	list := []SessionRun{}
	for _, set := range s.all() {
		s.refresh(set)
		set.mu.Lock()
		r := SessionRun{Run: *answer.NewRun(set.run), Recordings: []SessionRecording{}}
		if i, why, _ := set.run.Matters(); i >= 0 {
			r.Matters, r.Why = set.entries[i].id, why
		}
		s.mu.Lock()
		for _, e := range set.entries {
			r.Recordings = append(r.Recordings, SessionRecording{e.id, e.generation, e.about})
		}
		s.mu.Unlock()
		set.mu.Unlock()
		list = append(list, r)
	}
	return list, nil
}

// find returns the recording with an id.
func (s *shelf) find(ctx context.Context, id string) (*entry, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[id]; e != nil {
		return e, nil
	}
	near := ""
	if len(id) <= 64 {
		near = spelling.DidYouMean(id, sortedKeys(s.byID))
	}
	return nil, &Error{Status: 404, Code: "unknown-recording",
		What:  fmt.Sprintf("there is no recording %.64q%s", id, near),
		Where: "recording", Do: "GET /api/v1/session lists the recordings"}
}

// only returns the recording if there is one; else nil.
func (s *shelf) only() *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) != 1 {
		return nil
	}
	for _, e := range s.byID {
		return e
	}
	return nil
}

// known returns the recording's identity and generation without opening it; false if it must be looked at first. A
// recording that is complete stays as it is.
func (s *shelf) known(e *entry) (identity string, generation uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.about == nil || e.about.Growing && (e.now == nil || s.isDue(e.now)) {
		return "", 0, false
	}
	return e.identity, e.generation, true
}

// isDue reports whether the recording may have grown. The shelf is locked.
func (s *shelf) isDue(o *opened) bool {
	return o.source.Reader.Live() && time.Since(o.checked) >= s.every
}

// acquire returns the recording, opened if it is not. release must be called when it is not used any more. Requests for
// the same recording share its opening. A request whose context ends waits no longer; if nobody waits, the opening ends
// while events are counted, or the recording is open for whoever asks next.
func (s *shelf) acquire(ctx context.Context, e *entry) (*opened, error) {
	if o := s.use(e); o != nil {
		return o, nil
	}
	return s.openings.do(ctx, e, nil, func() func(context.Context, *progress) (*opened, error) {
		return func(ctx context.Context, _ *progress) (*opened, error) { return s.reopen(ctx, e) }
	})
}

// reopen opens the recording, unless it is open and current. The recording is in use.
func (s *shelf) reopen(ctx context.Context, e *entry) (*opened, error) {
	if o := s.use(e); o != nil { // another request has opened it
		return o, nil
	}
	s.refresh(e.set)
	r, err := e.read()
	if err != nil {
		return nil, err
	}
	if o := s.unchanged(e, r); o != nil {
		return o, r.Close()
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if err := s.makeRoom(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	source, err := query.New(ctx, r)
	if err != nil {
		s.leaveRoom()
		return nil, errors.Join(err, r.Close())
	}
	source.Profile.SetCode(s.code)
	o := s.put(e, source)
	if s.made != nil {
		s.made(o)
	}
	return o, nil
}

// hand gives a recording that reopen has returned to n requests.
func (s *shelf) hand(o *opened, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users += n
	s.drop(o)
}

// hold uses a recording that is in use once more.
func (s *shelf) hold(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users++
}

// unchanged returns the recording if it is open, and is what was read again; else nil.
func (s *shelf) unchanged(e *entry, again *recording.Reader) *opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := e.now
	if o == nil || again.Size() != e.size || !again.Live() {
		return nil
	}
	o.checked = time.Now()
	o.users++
	return o
}

// use returns the recording if it is open and current.
func (s *shelf) use(e *entry) *opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := e.now
	if o == nil || s.isDue(o) {
		return nil
	}
	o.users++
	s.open = append(slices.DeleteFunc(s.open, func(x *opened) bool { return x == o }), o)
	return o
}

// makeRoom closes recordings that nobody uses, until another one may be opened. That must be put, or leaveRoom be
// called.
func (s *shelf) makeRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.open)+s.next >= maxOpen {
		if !s.retireIdle() {
			return errBusy // there are fewer workers than recordings that may be open
		}
	}
	s.next++
	return nil
}

func (s *shelf) leaveRoom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next--
}

// retireIdle closes the recording that was not used for longest, and reports whether there is one that nobody uses. The
// shelf is locked.
func (s *shelf) retireIdle() bool {
	i := slices.IndexFunc(s.open, func(o *opened) bool { return o.users == 0 })
	if i >= 0 {
		s.retire(s.open[i])
	}
	return i >= 0
}

// trim closes recordings that nobody uses until the open ones take no more bytes than they may. The shelf is locked.
func (s *shelf) trim() {
	for s.bytes() > maxOpenBytes && s.retireIdle() {
	}
}

// bytes is about how many bytes the open recordings take with their atlases. The shelf is locked.
func (s *shelf) bytes() (sum int) {
	for _, o := range s.open {
		sum += o.bytes + int(o.atlasBytes)
	}
	return sum
}

// sizeOf returns about how many bytes a recording takes while it is open: measured, 240 for each call stack that
// allocates, and 20 for each node of the calling-context tree; and what its timelines may keep (package timetravel).
func sizeOf(s *query.Source) int {
	const levels, ofBlock = 13 << 20, 26 << 10
	return 240*len(s.Profile.Stacks) + 20*s.Reader.Nodes().Len() + min(levels, ofBlock*s.Reader.EventBlocks().Len())
}

// retire closes a recording, now or when nobody uses it any more. The shelf is locked.
func (s *shelf) retire(o *opened) {
	if o.entry.now == o {
		o.entry.now = nil
	}
	o.stale = true
	if o.users > 0 {
		return
	}
	s.open = slices.DeleteFunc(s.open, func(x *opened) bool { return x == o })
	_ = o.source.Close() // nothing was written
}

// read opens the recording.
func (e *entry) read() (*recording.Reader, error) {
	e.set.mu.Lock()
	defer e.set.mu.Unlock()
	return e.set.run.OpenProgram(slices.Index(e.set.entries, e))
}

// put makes a source the recording that is open.
func (s *shelf) put(e *entry, source *query.Source) *opened {
	about := newAbout(source)
	p, size := source.Reader.Process(), source.Reader.Size()
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := e.now; old != nil {
		s.retire(old)
	}
	if e.about != nil && e.size != size {
		e.generation++
	}
	e.about, e.size = about, size
	e.identity = fmt.Sprintf("%s %d %d %d", e.id, p.PID, p.Started, size)
	o := &opened{entry: e, source: source, identity: e.identity, generation: e.generation, checked: time.Now(),
		bytes: sizeOf(source), users: 1}
	e.now = o
	s.open = append(s.open, o)
	s.next--
	s.trim()
	return o
}

// release ends the use of a recording.
func (s *shelf) release(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(o)
}

// drop ends the use of a recording. The shelf is locked.
func (s *shelf) drop(o *opened) {
	if o.users--; o.stale && o.users == 0 {
		s.retire(o)
	}
}

// close closes everything. Nothing may be in use.
func (s *shelf) close() {
	<-s.ready
	s.openings.wait()
	s.mu.Lock()
	for len(s.open) > 0 {
		o := s.open[0]
		o.users = 0
		s.retire(o)
	}
	s.mu.Unlock()
	for _, set := range s.sets {
		set.run.Close()
	}
	s.tables.close()
	s.closeSent()
	for _, f := range s.found {
		f.Close()
	}
}

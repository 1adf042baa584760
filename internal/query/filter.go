package query

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
)

// stackFilter decides which call stacks count. Several goroutines may use it.
type stackFilter struct {
	s     *Source
	q     *Query
	none  bool            // no stack counts
	known []atomic.Uint32 // verdicts on stacks, by id
	ready atomic.Bool     // all of the tally's stacks have verdicts
	mu    sync.Mutex      // protects the following fields
	pcs   map[uint32]mark
	nodes map[uint32]mark // marks of nodes, callers included
	buf   []uint32
}

// Verdicts; 0: not yet decided.
const (
	leaveOut = 1 + iota
	keepIt
)

// mark says what a frame or a stack matches: the n-th pattern of Query.Focus, and others.
type mark uint32

const (
	ignored mark = 1 << iota
	inModule
	focused // the first pattern; the others follow
)

// MaxPatterns is how many patterns Query.Focus may have.
const MaxPatterns = 28

// filterKey is what a stackFilter depends on.
type filterKey struct {
	none                   bool
	focus, ignore, modules string
}

// recentFilter is a stackFilter that may be needed again: whoever drags the ends of a range keeps the filters.
type recentFilter struct {
	filterKey
	*stackFilter
}

// stackFilter returns the filter of a query; nil if every stack counts.
func (s *Source) stackFilter(q *Query) *stackFilter {
	key := filterKey{none: q.Processes != nil && !slices.Contains(q.Processes, s.Reader.Process().PID)}
	if q.Focus != nil {
		key.focus = fmt.Sprintf("%q", q.Focus)
	}
	if q.Ignore != nil {
		key.ignore = fmt.Sprintf("%q", q.Ignore)
	}
	if q.Modules != nil {
		key.modules = "/" + strings.Join(q.Modules, "\x00")
	}
	if key == (filterKey{}) {
		return nil
	}
	if r := s.recent.Load(); r != nil && r.filterKey == key {
		return r.stackFilter
	}
	f := &stackFilter{s: s, q: &Query{Focus: q.Focus, Ignore: q.Ignore, Modules: q.Modules}, none: key.none,
		known: make([]atomic.Uint32, min(2*s.Reader.Nodes().Len()+64, maxDense)),
		pcs:   make(map[uint32]mark), nodes: make(map[uint32]mark)}
	s.recent.Store(&recentFilter{key, f})
	return f
}

// prepare decides on the stacks of the tally, which takes long with many names and patterns: unlike keep, it can be
// cancelled. A nil filter has nothing to decide.
func (f *stackFilter) prepare(ctx context.Context) error {
	if f == nil || f.ready.Load() {
		return nil
	}
	w := watch{ctx: ctx}
	for i := range f.s.sum.Stacks {
		if err := w.err(); err != nil {
			return err
		}
		f.keep(f.s.sum.Stacks[i].ID)
	}
	f.ready.Store(true)
	return nil
}

// keep reports whether a stack counts.
func (f *stackFilter) keep(stack uint32) bool {
	if f == nil {
		return true
	}
	if f.none {
		return false
	}
	dense := uint64(stack) < uint64(len(f.known))
	if dense {
		if v := f.known[stack].Load(); v != 0 {
			return v == keepIt
		}
	}
	f.mu.Lock()
	m := f.stack(stack)
	f.mu.Unlock()
	all := focused<<len(f.q.Focus) - focused
	keep := m&ignored == 0 && m&all == all && (f.q.Modules == nil || m&inModule != 0)
	if dense {
		verdict := uint32(leaveOut)
		if keep {
			verdict = keepIt
		}
		f.known[stack].Store(verdict)
	}
	return keep
}

// stack returns the union of the marks of a stack's frames.
func (f *stackFilter) stack(id uint32) mark {
	if m, ok := f.nodes[id]; ok {
		return m
	}
	var m mark
	f.buf = f.s.pathToRoot(f.buf[:0], id, func(id uint32) bool {
		known, ok := f.nodes[id]
		m = known
		return ok
	})
	for _, id := range slices.Backward(f.buf) {
		n, _ := f.s.Reader.Nodes().Get(id)
		m |= f.pc(n.PC)
		f.nodes[id] = m
	}
	return m
}

func (f *stackFilter) pc(pc uint32) mark {
	if m, ok := f.pcs[pc]; ok {
		return m
	}
	var m mark
	frames := f.s.frames(pc)
	for i := range frames {
		for n, p := range f.q.Focus {
			if matches(p, &frames[i]) {
				m |= focused << n
			}
		}
		if slices.ContainsFunc(f.q.Ignore, func(p *regexp.Regexp) bool { return matches(p, &frames[i]) }) {
			m |= ignored
		}
		if slices.ContainsFunc(f.q.Modules, func(p string) bool { return matchModule(p, frames[i].Module) }) {
			m |= inModule
		}
	}
	f.pcs[pc] = m
	return m
}

// matches reports whether a pattern is found in the name of a frame's function, file or module or, if the pattern has a
// colon before a digit, as no other names have it, in its place: /src/cache.c:31.
func matches(p *regexp.Regexp, f *profile.Frame) bool {
	return f.Function != "" && p.MatchString(f.Function) || f.Linkage != "" && p.MatchString(f.Linkage) ||
		f.File != "" && p.MatchString(f.File) || f.Module != "" && p.MatchString(f.Module) ||
		f.File != "" && f.Line > 0 && hasPlace(p.String()) &&
			p.MatchString(CleanFile(f.File)+":"+strconv.FormatUint(uint64(f.Line), 10))
}

func hasPlace(pattern string) bool {
	for i := 1; i < len(pattern); i++ {
		if pattern[i-1] == ':' && '0' <= pattern[i] && pattern[i] <= '9' {
			return true
		}
	}
	return false
}

// matchModule reports whether a pattern with * and ? matches a module: its path, its file name, or its file name
// without ".so" and what follows. So libc matches libc.so.6 and not libcrypto.
func matchModule(pattern, module string) bool {
	if module == "" {
		return false
	}
	name := path.Base(module)
	short, _, _ := strings.Cut(name, ".so")
	for _, s := range []string{module, name, short} {
		if s == pattern {
			return true
		}
		if ok, err := path.Match(pattern, s); ok && err == nil {
			return true
		}
	}
	return false
}

// blockFilter decides which blocks count.
type blockFilter struct {
	threads map[uint32]bool // nil: all
	regions *regionTree     // nil: all
	within  []bool          // by path of regions: whether it counts
	freers  map[uint32]bool // nil: all, and also nobody
	q       *Query
	// marked holds the freed allocations that end as is asked for; or, if blocks that were never freed count, the
	// others.
	marked *bitset
	others bool
	made   *bitset // the allocations by which realloc made a block of one that counts; nil: all allocations
}

func newBlockFilter(s *Source, q *Query) *blockFilter {
	f := &blockFilter{q: q}
	f.threads, f.freers = setOf(q.Threads), setOf(q.FreedBy)
	if q.Regions != nil {
		f.regions = s.regions()
		f.within = f.regions.matching(q.Regions)
	}
	if q.filtersEnds() {
		f.marked, f.others = &bitset{}, q.FreedBy == nil && q.Lifetimes.Max == Unbounded
	}
	if q.OldSizes != nil {
		f.made = &bitset{}
	}
	return f
}

// setOf returns the set of what a list has; nil if the list is nil.
func setOf(list []uint32) map[uint32]bool {
	if list == nil {
		return nil
	}
	set := make(map[uint32]bool)
	for _, n := range list {
		set[n] = true
	}
	return set
}

// ends reports whether a deallocation ends a block that counts, as far as its lifetime and who freed it go.
func (f *blockFilter) ends(e *event.Event) bool {
	return f.q.Lifetimes.Has(lifetime(e)) && (f.freers == nil || e.Func != event.FuncUnknown && f.freers[e.Thread])
}

// mark is a collector that notes how blocks end.
func (f *blockFilter) mark(recording.Stretch) (observer, func()) {
	marked := &bitset{}
	observe := func(b *recording.Batch, _ []bool) {
		for i := range b.Events {
			if e := &b.Events[i]; e.Kind == event.Free && f.ends(e) != f.others {
				marked.set(b.Refs[i])
			}
		}
	}
	return observe, func() { f.marked.add(marked) }
}

// shared returns the same filter for another goroutine.
func (f *blockFilter) shared() *blockFilter {
	if f == nil || f.marked == nil && f.made == nil {
		return f
	}
	c := *f
	c.marked, c.made = f.marked.shared(), f.made.shared()
	return &c
}

// alloc reports whether the block of an allocation counts.
func (f *blockFilter) alloc(e *event.Event, ref uint64) bool {
	return (f.threads == nil || f.threads[e.Thread]) && f.q.Sizes.Has(e.Size) &&
		(f.marked == nil || f.marked.has(ref) != f.others) && (f.made == nil || f.made.has(ref)) &&
		(f.regions == nil || f.within[f.regions.ofEvent(ref, e)])
}

// free reports whether the block of a deallocation counts.
func (f *blockFilter) free(e *event.Event, ref uint64) bool {
	return (f.threads == nil || f.threads[e.BornBy]) && f.q.Sizes.Has(e.Size) &&
		(f.marked == nil || f.ends(e)) && (f.made == nil || f.made.has(ref)) &&
		(f.regions == nil || f.within[f.regions.ofEvent(ref, e)])
}

// lifetime returns the lifetime of the block that a deallocation ends, in ns.
func lifetime(e *event.Event) uint64 { return uint64(max(e.Time-e.Born, 0)) }

// bitset is a set of numbers, most of which are close to each other.
type bitset struct {
	pages map[uint64]*[512]uint64
	last  *[512]uint64 // the page used last, if it exists
	at    uint64       // its number
}

const pageBits = 512 * 64

func (b *bitset) set(n uint64) {
	if b.pages == nil {
		b.pages = make(map[uint64]*[512]uint64)
	}
	p := b.page(n / pageBits)
	if p == nil {
		p = new([512]uint64)
		b.pages[n/pageBits], b.last = p, p
	}
	p[n%pageBits/64] |= 1 << (n % 64)
}

func (b *bitset) page(n uint64) *[512]uint64 {
	if b.last == nil || b.at != n {
		b.last, b.at = b.pages[n], n
	}
	return b.last
}

// shared returns the same set for another goroutine, nil for nil. Nothing may be added any more.
func (b *bitset) shared() *bitset {
	if b == nil {
		return nil
	}
	return &bitset{pages: b.pages}
}

func (b *bitset) has(n uint64) bool {
	p := b.page(n / pageBits)
	return p != nil && p[n%pageBits/64]&(1<<(n%64)) != 0
}

// add adds another set, which must not be used afterwards.
func (b *bitset) add(o *bitset) {
	if b.pages == nil {
		b.pages = o.pages
		return
	}
	for n, p := range o.pages {
		old := b.pages[n]
		if old == nil {
			b.pages[n] = p
			continue
		}
		for i := range p {
			old[i] |= p[i]
		}
	}
}

package column

import "sync"

// memo remembers how columns were packed. The processes of a run have much in common: the modules of a program, their
// functions and variables, its call stacks. How a column is packed depends on the column alone (see trial), so a
// recording has the same bytes with a memo and without.
type memo struct {
	mu    sync.Mutex
	packs map[string]packed // by column, not packed
	size  int               // bytes in packs
}

// packed is a packed column.
type packed struct {
	frame    string
	literals bool // see way
}

const (
	memoColumn = 32 << 10 // bytes of the longest column that is remembered
	memoSize   = 2 << 20  // a memo of so many bytes begins anew
)

// packs is the memo of all packers.
var packs memo

func (m *memo) find(raw []byte) (p packed, ok bool) {
	if len(raw) > memoColumn {
		return p, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok = m.packs[string(raw)]
	return p, ok
}

func (m *memo) add(raw, frame []byte, literals bool) {
	if len(raw) > memoColumn {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.size += len(raw) + len(frame); m.packs == nil || m.size > memoSize {
		m.packs, m.size = map[string]packed{}, len(raw)+len(frame)
	}
	m.packs[string(raw)] = packed{string(frame), literals}
}

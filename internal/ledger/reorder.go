package ledger

// This file is the rule by which contradictions are resolved. It reads what is known of one address and returns what
// has happened there, or that it is too early to say. It changes nothing and writes no event: settle.go does.
//
// Every function here looks at each waiting op a bounded number of times. At most maxConflict ops wait at an address,
// follows() is linear in them, and recentFrees has maxRecent entries: a call takes O(maxConflict² + maxRecent) steps.

// situation is all that the rule looks at.
type situation struct {
	key    uint64    // of the address
	ops    []waiting // what waits there, in order of arrival; never empty
	live   occupant
	recent *recentFrees
	skew   int64
	// suspects is how many of the first ops are deallocations that came before the allocation of the live block, and
	// that ended it only if a clock was wrong.
	suspects int
}

// occupant is the block that is live at an address.
type occupant struct {
	is     bool   // else there is none
	moving bool   // a realloc of it has begun
	by     *begin // that realloc; nil if its result has come
	thread uint32 // that allocated it
	born   int64
}

// story is what has happened, as far as it is certain: steps to take one after the other. Without steps, the ops wait.
type story struct {
	steps   [2]step
	n       int
	why     reason
	expires bool // without steps: the first op waits only until the clock has moved on by the skew
}

// step is one thing that has happened. In a story of two, the op of the second is ahead of the op of the first, so that
// its index holds when the first has been removed.
type step struct {
	what act
	op   int // index in situation.ops
}

type act uint8

const (
	birth       act = iota // op allocated the block that is live from here on
	end                    // op ended the live block
	endNothing             // op ended no block of this ledger
	beginWork              // op, a realloc's begin, was given the live block, or none
	moveAway               // a realloc under way has moved the live block: op was given its address
	endUnseen              // something that was not recorded ended the live block before op
	suspect                // the ops ahead of op become suspects
	settleOther            // op is a realloc's result whose begin waits elsewhere: that must be settled first
)

// reason says what the order of a story corrects.
type reason uint8

const (
	inOrder   reason = iota
	tie              // two ops whose times differ by the skew at most, or of which one came late
	inversion        // two ops whose times differ by more
	exchange         // a tie with a deallocation whose event has been written
)

var wait = story{}

func concluded(why reason, steps ...step) (s story) {
	s.why, s.n = why, copy(s.steps[:], steps)
	return s
}

// next returns what is certain, or that the ops wait.
func (s *situation) next() story {
	first := &s.ops[0]
	switch {
	case s.suspects > 0 && s.live.is:
		return s.withSuspects()
	case first.allocates() && s.live.is:
		return s.allocOverLive()
	case first.allocates():
		if first.other != 0 {
			return wait
		}
		return concluded(inOrder, step{birth, 0})
	case s.live.moving:
		return s.endDuringRealloc()
	case first.begins() && s.live.is:
		return concluded(inOrder, step{beginWork, 0})
	case first.begins():
		return s.beginOfNothing()
	case s.live.is:
		return concluded(inOrder, step{end, 0})
	}
	return s.freeOfNothing()
}

// force returns what has become of the first op if nothing else will ever be known: its time is believed.
func (s *situation) force() story {
	first := &s.ops[0]
	switch {
	case first.allocates() && first.other != 0:
		return concluded(inOrder, step{settleOther, 0})
	case first.allocates() && s.live.is:
		return s.unseen()
	case first.allocates():
		return concluded(inOrder, step{birth, 0})
	case first.begins():
		return concluded(inOrder, step{beginWork, 0})
	case s.suspects > 0:
		return concluded(inOrder, step{endNothing, 0})
	case s.live.is: // and in a realloc
		return concluded(inOrder, step{end, 0})
	}
	return s.unmatched()
}

// allocOverLive: the first op allocates where a block is live. Did one of the later ops end that?
func (s *situation) allocOverLive() story {
	first, last := &s.ops[0], &s.ops[len(s.ops)-1]
	if s.live.moving {
		if s.mayPrecede(&last.op) {
			return wait
		}
		return concluded(inOrder, step{moveAway, 0})
	}
	allocs, frees, ender := 1, 0, 0
	for j := 1; j < len(s.ops); j++ {
		w := &s.ops[j]
		switch {
		case w.begins():
			if ender == 0 && !s.follows(j) && s.near(w, first) {
				return concluded(tie, step{beginWork, j})
			}
		case w.allocates():
			allocs++
			if frees > 0 && ender == 0 && w.time-first.time > s.skew {
				return s.unseen() // the block before w has its deallocation: only the live block's is missing
			}
		default:
			frees++
			if ender == 0 && !s.follows(j) {
				ender = j
			}
		}
	}
	switch {
	case ender == 0:
		return story{expires: s.crossed() > 0}
	case s.near(&s.ops[ender], first):
		return concluded(tie, step{end, ender})
	case s.crossed() > 0:
		return s.unseen()
	case frees > allocs: // the live block and all that follow have ended: one clock was wrong
		return concluded(inversion, step{end, ender})
	case last.allocates():
		return s.unseen()
	}
	return wait
}

// endDuringRealloc: the first op ends or reallocates a block that is in a realloc. If that has moved the block, a later
// op has allocated at its address; if it has failed, its result says so.
func (s *situation) endDuringRealloc() story {
	first, last := &s.ops[0], &s.ops[len(s.ops)-1]
	if s.mayPrecede(&last.op) {
		return wait
	}
	for j := 1; j < len(s.ops); j++ {
		switch w := &s.ops[j]; {
		case !s.near(w, first) && first.begins():
			return concluded(inOrder, step{beginWork, 0})
		case !s.near(w, first):
			return concluded(inOrder, step{end, 0})
		case w.allocates() && !s.follows(j):
			return concluded(inOrder, step{moveAway, j})
		}
	}
	return wait
}

// freeOfNothing: the first op frees what is not live. Did one of the later ops allocate it?
func (s *situation) freeOfNothing() story {
	first, last := &s.ops[0], &s.ops[len(s.ops)-1]
	_, swap, cost := s.exchangeable()
	begins := false
	for j := 1; j < len(s.ops); j++ {
		w := &s.ops[j]
		if !w.allocates() {
			begins = begins || w.begins()
			continue
		}
		switch {
		case s.follows(j):
			if last.time-first.time <= s.skew {
				continue // another stream's op could still explain the first
			}
			return s.unmatched()
		case s.near(w, first):
			if swap > 0 && swap < j && cost < 2*w.time-first.time-s.ops[swap].time {
				return s.unmatched()
			}
			return concluded(tie, step{birth, j}, step{end, 0})
		case begins: // nor did the realloc reallocate anything
			return concluded(inOrder, step{endNothing, 0})
		case s.laterFree(j): // that is the one which the allocation explains
			return concluded(inOrder, step{endNothing, 0})
		}
		return concluded(inOrder, step{birth, j}, step{suspect, j})
	}
	return story{expires: swap > 0}
}

// laterFree says whether a deallocation between the first op and allocation j may have come after j.
func (s *situation) laterFree(j int) bool {
	for i := j - 1; i > 0; i-- {
		w := &s.ops[i]
		if w.op.Stream == s.ops[j].op.Stream {
			return false
		}
		if w.op.Kind == OpFree && s.near(&s.ops[j], w) {
			return true
		}
	}
	return false
}

// beginOfNothing: the first op begins to reallocate what is not live. Did one of the later ops allocate it?
func (s *situation) beginOfNothing() story {
	for j := 1; j < len(s.ops); j++ {
		w := &s.ops[j]
		if !w.allocates() {
			continue
		}
		if s.follows(j) || !s.near(w, &s.ops[0]) {
			return concluded(inOrder, step{beginWork, 0})
		}
		return concluded(tie, step{birth, j}, step{beginWork, 0})
	}
	return wait
}

// withSuspects: the first ops came before the allocation of the live block. If another allocation comes next, one of
// them ended the block nevertheless.
func (s *situation) withSuspects() story {
	switch {
	case s.suspects == len(s.ops):
		return wait
	case s.ops[s.suspects].allocates():
		return concluded(inversion, step{suspect, 0}, step{end, 0})
	}
	return concluded(inOrder, step{endNothing, 0})
}

// unseen concludes that nothing among the ops ended the live block before the first of them allocated at its address.
func (s *situation) unseen() story {
	if j := s.crossed(); j > 0 {
		return concluded(exchange, step{end, j})
	}
	if s.live.moving {
		return concluded(inOrder, step{moveAway, 0})
	}
	return concluded(inOrder, step{endUnseen, 0})
}

// exchangeable: nothing is live, and of a deallocation and an allocation of one stream that wait, the deallocation
// came first. Then it ended the block before, and another thread's deallocation, whose clock was read too early and
// which belongs to the allocation, has taken its place. That one's event has been written; which of the two ended
// which of the two blocks is all that will be wrong. The results are the waiting deallocation and allocation, or 0, 0,
// and by how much the clock must have been wrong.
func (s *situation) exchangeable() (free, alloc int, early int64) {
	for j := 1; j < len(s.ops); j++ {
		w := &s.ops[j]
		if !w.allocates() || !s.follows(j) {
			continue
		}
		at, ok := s.recent.find(s.key, w.op.Thread)
		k, early := s.soleFree(j), w.time-at
		if ok && k >= 0 && early <= s.skew {
			return k, j, early
		}
		break
	}
	return 0, 0, 0
}

// soleFree returns the only op ahead of j that is of j's stream, if it is a deallocation, or -1.
func (s *situation) soleFree(j int) int {
	found := -1
	for i := range j {
		if w := &s.ops[i]; w.op.Stream != s.ops[j].op.Stream {
			continue
		} else if found >= 0 || w.op.Kind != OpFree {
			return -1
		}
		found = i
	}
	return found
}

// unmatched concludes which deallocation ended nothing, if no exchange explains the first op: that one, or, if it may
// have come after an allocation, the deallocation that the allocation's own stream made before.
func (s *situation) unmatched() story {
	if free, alloc, _ := s.exchangeable(); alloc > 0 {
		return concluded(exchange, step{birth, alloc}, step{end, free})
	}
	for j := 1; j < len(s.ops); j++ {
		if w := &s.ops[j]; w.allocates() {
			if k := s.soleFree(j); k > 0 && s.near(w, &s.ops[0]) {
				return concluded(inOrder, step{endNothing, k})
			}
			break
		}
	}
	return concluded(inOrder, step{endNothing, 0})
}

// crossed: the first op allocates where a block is live, and its own stream ends what it has allocated. If another
// thread has allocated or freed at the address just before, its clock may have been read too early, so that the two
// have changed places. The result is that deallocation, or 0.
func (s *situation) crossed() int {
	first := &s.ops[0].op
	if s.live.moving {
		return 0
	}
	for j := 1; j < len(s.ops); j++ {
		w := &s.ops[j]
		if w.op.Stream != first.Stream {
			continue
		}
		if w.op.Kind != OpFree {
			return 0
		}
		at, other := s.live.born, s.live.thread != first.Thread
		if now, ok := s.recent.find(s.key, first.Thread); ok && (!other || now > at) {
			at, other = now, true
		}
		if !other || w.time-at > s.skew {
			return 0
		}
		return j
	}
	return 0
}

// follows says whether an op ahead of j is of j's stream, so that j happened after it.
func (s *situation) follows(j int) bool {
	for k := range j {
		if s.ops[k].op.Stream == s.ops[j].op.Stream {
			return true
		}
	}
	return false
}

// near says whether w may have happened before first, which came before it.
func (s *situation) near(w, first *waiting) bool { return w.late || w.time-first.time <= s.skew }

// mayPrecede says whether the live block may have ended, and another one have been born, before the realloc that is
// under way began. What has come last at the address is then not too late for that, and the result will show that.
func (s *situation) mayPrecede(last *Op) bool { return precedes(last, s.live.by, s.skew) }

// precedes says whether op, which came after the begin of a realloc that is under way, may have happened before it.
func precedes(op *Op, b *begin, skew int64) bool {
	return b != nil && !op.Late && op.Time-b.time <= skew
}

// aheadOf returns how many of the ops that wait, deallocations and allocations in turn, came before a realloc began
// whose result has come: as many as make the clocks the least wrong. began is the time of the begin.
func (s *situation) aheadOf(began int64, result *Op, inPlace bool) (n int) {
	after, sure := int64(0), 0 // by how much the clocks are wrong of those that come after it, and how many cannot
	for i := range s.ops {
		w := &s.ops[i]
		after += max(0, result.Time-w.time)
		if !w.late && !result.Late && result.Time-w.time > s.skew {
			sure = i + 1
		}
	}
	least := after
	for k := 1; k < len(s.ops); k += 2 {
		end, born := &s.ops[k-1], &s.ops[k]
		if end.allocates() || end.begins() || !born.allocates() || born.time-began > s.skew {
			break
		}
		after -= max(0, result.Time-end.time) + max(0, result.Time-born.time)
		if cost := after + max(0, born.time-began); inPlace && (cost < least || n < sure) {
			least, n = cost, k+1 // nobody else had the address meanwhile
		} else if !inPlace && s.follows(k) { // else that is what it was moved away from
			n = k + 1
		}
	}
	return n
}

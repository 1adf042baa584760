package ledger

// recentFrees remembers the latest deallocations, so that the rule can find out afterwards that two of them happened in
// the other order.
type recentFrees struct {
	list [maxRecent]recentFree
	next uint
}

const maxRecent = 128

// recentFree says that a thread has ended the block that was live at an address.
type recentFree struct {
	key    uint64
	time   int64 // of the op
	thread uint32
}

func (r *recentFrees) add(key uint64, now int64, thread uint32) {
	r.list[r.next%maxRecent] = recentFree{key, now, thread}
	r.next++
}

// find returns when another thread than this one has last ended a block at an address, or false.
func (r *recentFrees) find(key uint64, not uint32) (now int64, ok bool) {
	for i := range r.list {
		if f := &r.list[i]; f.key == key && f.thread != not && (!ok || f.time > now) {
			now, ok = f.time, true
		}
	}
	return now, ok
}

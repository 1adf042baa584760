package ledger

// lately remembers the latest deallocations, so that it can be told afterwards that two of them came in the other order.
type lately struct {
	list [latelyMax]ended
	next uint
}

const latelyMax = 128

// ended says that a thread has ended the block that was live at an address.
type ended struct {
	key    uint64
	time   int64 // of the op
	thread uint32
}

func (y *lately) add(key uint64, now int64, thread uint32) {
	y.list[y.next%latelyMax] = ended{key, now, thread}
	y.next++
}

// find returns when another thread than this one has last ended a block at an address, or false.
func (y *lately) find(key uint64, not uint32) (now int64, ok bool) {
	for i := range y.list {
		if e := &y.list[i]; e.key == key && e.thread != not && (!ok || e.time > now) {
			now, ok = e.time, true
		}
	}
	return now, ok
}

package record

import (
	"fmt"
	"os"

	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/record/order"
	"github.com/heaptap/heaptap/internal/spool"
)

// sink makes messages of what a spool's reader finds. It belongs to the drain.
type sink struct {
	run  *run
	w    *worker
	list []message // to be pushed
	full bool      // that events are lost was reported
}

var _ spool.Sink = (*sink)(nil)

func (k *sink) add(list ...message) { k.list = append(k.list, list...) }

func (k *sink) arrive(s *order.Stream, p journal.Piece) {
	if n := len(k.list); n > 0 {
		if m, ok := k.list[n-1].(*piecesArrived); ok {
			m.list = append(m.list, arrival{s, p})
			return
		}
	}
	k.add(&piecesArrived{[]arrival{{s, p}}})
}

// push hands the messages to the worker.
func (k *sink) push() {
	k.w.queue.push(k.list...)
	clear(k.list)
	k.list = k.list[:0]
}

func (k *sink) stream(st *spool.Stream) *order.Stream {
	if s, ok := st.Tag.(*order.Stream); ok {
		return s
	}
	s := k.w.restored[st.UID]
	if s == nil {
		s = &order.Stream{UID: st.UID, Start: st.Start, Proc: st.Proc, TID: st.TID, Level: st.Level}
	}
	s.Name = st.Name
	st.Tag = s
	return s
}

// Buffer returns room for records.
func (k *sink) Buffer(n int) []byte { return k.run.store.Buffer(n) }

// Data takes records.
func (k *sink) Data(st *spool.Stream, b []byte) {
	of := journal.OriginOf(k.w.spool.Info().Inode, st)
	q, lost, err := k.run.store.Keep(b, &of)
	if err != nil && !k.full {
		k.full = true
		k.add(&noteAdded{fmt.Sprintf(
			"The recorder could not keep up: %v. Events are being lost from here on; they are counted.", err)})
	}
	if lost > 0 {
		k.add(&eventsLost{k.stream(st), uint64(lost)})
	}
	if q.Size == 0 {
		return
	}
	k.arrive(k.stream(st), q)
}

// End takes the end of a stream.
func (k *sink) End(st *spool.Stream) {
	k.add(&streamEnded{k.stream(st), st.Lost, st.End})
}

// Doubtful takes the reason why events of a stream are left out.
func (k *sink) Doubtful(st *spool.Stream, events int, err error) {
	k.add(&eventsLost{k.stream(st), uint64(events)}, &noteAdded{err.Error()})
}

// Damaged takes the reason why a stream ends early.
func (k *sink) Damaged(st *spool.Stream, err error) {
	k.add(&noteAdded{fmt.Sprintf("%v. Its later events are missing.", err)})
}

// Spilled takes records that the agent has put into its spill file.
func (k *sink) Spilled(st *spool.Stream, f *os.File, offset int64, n int) {
	at := journal.OriginOf(0, st).At
	k.arrive(k.stream(st), journal.InFile(f, offset, n, at))
}

package ledger

import "github.com/heaptap/heaptap/internal/event"

// hasty is a contest of which an op waits no longer than for the clocks' skew.
type hasty struct {
	*contest
	since int64
}

// hasten has op j of a contest wait for the clock only.
func (l *Ledger) hasten(c *contest, j int) {
	if w := &c.ops[j]; !w.hasty {
		w.hasty = true
		l.waits.hasty = append(l.waits.hasty, hasty{c, w.op.Time})
	}
}

// settleHasty settles what only waited for the clock to move on.
func (l *Ledger) settleHasty(now int64, emit func(*event.Event)) {
	w := &l.waits
	n := 0
	for ; n < len(w.hasty) && now-w.hasty[n].since > l.Skew; n++ { // what is settled may hasten others
		c := w.hasty[n].contest
		if len(c.ops) > 0 && c.ops[0].hasty && now-c.ops[0].op.Time > l.Skew && c.candidates == 0 {
			l.settleHead(c, emit)
		}
	}
	w.hasty = append(w.hasty[:0], w.hasty[n:]...)
}

package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// MostForms is how many forms of a block a biography has before and after the one that was asked for.
const MostForms = 1000

// Biography is what became of a block: where it was allocated, how reallocations moved it, and who freed it.
type Biography struct {
	Answer
	Forms   []Form // one for each allocation or reallocation, the first one first
	Asked   int    // index of the one that was asked for
	Earlier bool   // there are earlier ones than those in Forms, or they are not known
	Later   bool   // there are later ones than those in Forms, or they are not known
	// The allocations of the same thread just before and after the one that was asked for.
	Before, After []Block
	// The blocks next to it when it was allocated; nil if there is none, or if addresses were not recorded.
	Below, Above *Block
}

// Form is a block from its allocation, or reallocation, to the next one or its end.
type Form struct {
	Block
	End      *event.Event // nil: it never ended
	EndEvent uint64       // number of that event
}

// neighbours is how many allocations of the same thread a biography has before and after.
const neighbours = 3

// Tell answers with the biography of the block of an allocation, by number. It reads the events from its allocation to
// its end; and, if addresses were recorded, all before that, for what lay next to it.
func Tell(ctx context.Context, s *Source, q *Query, ref uint64) (*Biography, error) {
	one := Query{By: ByStack, Metrics: []Metric{Bytes}, Progress: q.Progress}
	a, err := newAsk(ctx, s, &one)
	if err == nil {
		err = s.Reader.NeedEvents()
	}
	if err != nil {
		return nil, err
	}
	a.Plan = FromEvents
	t := &teller{ask: a}
	if err := t.tell(ref); err != nil {
		return nil, err
	}
	t.out.Answer = a.Answer
	return &t.out, nil
}

type teller struct {
	*ask
	out Biography
}

func (t *teller) tell(ref uint64) error {
	form, born, err := t.form(ref)
	if err != nil {
		return err
	}
	t.out.Forms = []Form{form}
	if err := t.earlier(born, form.Event); err != nil {
		return err
	}
	slices.Reverse(t.out.Forms)
	t.out.Asked = len(t.out.Forms) - 1
	if end := form.End; end != nil && end.Flags&event.Realloc != 0 {
		if err := t.later(form.EndEvent+1, end.Thread); err != nil {
			return err
		}
	}
	if err := t.inTime(&form); err != nil || !t.HasAddresses() || form.Addr == 0 {
		return err
	}
	return t.inSpace(&form)
}

// form reads an allocation and what ended its block.
func (t *teller) form(ref uint64) (Form, *event.Event, error) {
	born, died, bornAt, diedAt, err := timetravel.History(t.ctx, t.Reader, ref)
	if err != nil && born == nil {
		return Form{}, nil, err
	}
	if err := t.noteDamage(err, 1); err != nil {
		return Form{}, nil, err
	}
	if born == nil {
		n, err := t.Reader.AllocsBefore(t.last)
		switch {
		case err != nil:
		case n == 0:
			err = errors.New("this recording has no allocations")
		default:
			err = fmt.Errorf("this recording has no allocation #%d: the last one is #%d", ref, n-1)
		}
		return Form{}, nil, err
	}
	return Form{newBlock(bornAt, ref, born), died, diedAt}, born, nil
}

// earlier adds the forms before an allocation, the latest one first.
func (t *teller) earlier(born *event.Event, at uint64) error {
	for born.Flags&event.Realloc != 0 {
		if len(t.out.Forms) > MostForms {
			t.out.Earlier = true
			return nil
		}
		ref, err := t.replaced(born.Thread, at)
		if err != nil {
			return err
		}
		if ref == event.NoRef {
			t.out.Earlier = true
			return nil
		}
		var form Form
		if form, born, err = t.form(ref); err != nil {
			return err
		}
		t.out.Forms = append(t.out.Forms, form)
		at = form.Event
	}
	return nil
}

// replaced returns the number of the allocation whose block a thread's reallocation took, of which the allocating half
// is an event; event.NoRef if it is not known.
func (t *teller) replaced(thread uint32, at uint64) (uint64, error) {
	ref := event.NoRef
	for step := uint64(256); ; step *= 16 {
		from := max(t.first, at-min(at, step))
		err := t.Reader.EventsBetween(t.ctx, from, at, func(_, about uint64, e *event.Event) bool {
			if e.Thread == thread && e.Flags&event.Realloc != 0 {
				ref = event.NoRef // another one, which is over
				if e.Kind == event.Free {
					ref = about
				}
			}
			return true
		})
		if err != nil || ref != event.NoRef || from == t.first {
			return ref, err
		}
	}
}

// later adds the forms after a reallocation by a thread, of which the freeing half is just before an event.
func (t *teller) later(from uint64, thread uint32) error {
	waiting := true
	most := len(t.out.Forms) + MostForms
	err := t.Reader.EventsBetween(t.ctx, from, t.last, func(n, about uint64, e *event.Event) bool {
		last := &t.out.Forms[len(t.out.Forms)-1]
		switch {
		case waiting && e.Kind == event.Alloc && e.Thread == thread && e.Flags&event.Realloc != 0:
			if len(t.out.Forms) == most {
				t.out.Later = true
				return false
			}
			t.out.Forms = append(t.out.Forms, Form{Block: newBlock(n, about, e)})
			waiting = false
		case !waiting && e.Kind == event.Free && about == last.Ref:
			end := *e
			last.End, last.EndEvent = &end, n
			waiting, thread = true, e.Thread
			return e.Flags&event.Realloc != 0
		}
		return true
	})
	return t.noteDamage(err, 1)
}

// near is how many events a biography reads before and after an allocation for those of the same thread.
const near = 4096

// inTime finds the allocations of the same thread before and after.
func (t *teller) inTime(form *Form) error {
	from, to := max(t.first, form.Event-min(form.Event, near)), min(form.Event+near, t.last)
	err := t.Reader.EventsBetween(t.ctx, from, to, func(n, about uint64, e *event.Event) bool {
		if e.Kind != event.Alloc || e.Thread != form.Thread || about == form.Ref {
			return true
		}
		b := newBlock(n, about, e)
		if n < form.Event {
			if t.out.Before = append(t.out.Before, b); len(t.out.Before) > neighbours {
				t.out.Before = t.out.Before[1:]
			}
			return true
		}
		t.out.After = append(t.out.After, b)
		return len(t.out.After) < neighbours
	})
	return t.noteDamage(err, 1)
}

// inSpace finds the blocks below and above, when the block was allocated.
func (t *teller) inSpace(form *Form) error {
	at := form.Event
	q := Query{By: ByStack, Metrics: []Metric{Kept}, At: &at, Progress: t.q.Progress}
	a, err := newAsk(t.ctx, t.Source, &q)
	if err != nil {
		return err
	}
	l := &liveBlocks{a: a, want: BlockChoice{beside: form.Addr}}
	if err := l.find(); err != nil {
		return err
	}
	for _, b := range nextTo(l.list, form.Addr) {
		if b.Addr < form.Addr {
			t.out.Below = &b
		} else {
			t.out.Above = &b
		}
	}
	return nil
}

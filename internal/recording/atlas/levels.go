package atlas

import (
	"context"

	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// worthKeeping is how many blocks of events must have been read for their levels to be kept in a file: some 26 million
// events, half a second of a processor.
const worthKeeping = 100

// PrepareTimeline makes a timeline know the levels of all blocks of events: those that are kept, and those that it
// reads, which are then kept, also when it is cancelled. A nil Cache keeps nothing. progress may be nil; see
// timetravel.Timeline.Prepare.
func (c *Cache) PrepareTimeline(ctx context.Context, r *recording.Reader, l *timetravel.Timeline,
	progress func(done, total int)) error {
	if c == nil || r.Live() {
		_, err := l.Prepare(ctx, r, progress)
		return err
	}
	id, err := (&Options{}).identity(r)
	if err != nil {
		return err
	}
	if raw, err := read(c.levels, levelsMagic, id); err == nil {
		_ = l.Restore(raw, r) // what it lacks is read
	}
	n, err := l.Prepare(ctx, r, progress)
	if n >= worthKeeping {
		write(c.levels, levelsMagic, id, l.Append(nil, r), levelsLimit)
	}
	return err
}

package sqltool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/table"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
)

// MaxEvents is how many events the table of events may have: its rows are copied into the engine's database, where they
// take some 150 bytes each.
const MaxEvents = 50_000_000

// Database holds the tables of one selection of one recording that have been asked for, until it is closed.
type Database struct {
	// Close removes the database.
	Close func()

	engine *Engine
	dir    string

	mu     sync.RWMutex // held while a table is written
	loaded map[string]bool
}

// Open makes an empty database in a temporary folder, which only the user can read.
func Open(ctx context.Context, e *Engine) (*Database, error) {
	dir, remove, err := outfile.TemporaryDir("heaptap-sql-")
	if err != nil {
		return nil, err
	}
	if err := e.create(ctx, dir); err != nil {
		remove()
		return nil, err
	}
	return &Database{engine: e, dir: dir, Close: remove, loaded: map[string]bool{}}, nil
}

// Engine is the engine's name.
func (d *Database) Engine() string { return d.engine.Name }

// names finds the tables in a question: more may be loaded than are needed, if a name is in a text, but not fewer.
var names = lazy.Regexp(`(?i)\b(?:stacks|frames|events|timeline)\b`)

// Tables are the tables that a question may be about, in the order in which they are loaded.
func Tables(sql string) (list []string) {
	said := names().FindAllString(sql, -1)
	for _, v := range table.Variants("") {
		if slices.ContainsFunc(said, func(s string) bool { return strings.EqualFold(s, v.Name) }) {
			list = append(list, v.Name)
		}
	}
	return list
}

// Ask answers a question about a selection of a recording, with at most so many rows. The selection, in, must be the
// same each time: its tables are loaded when a question first names them.
func (d *Database) Ask(ctx context.Context, in *export.Input, sql string, rows int) (*Result, error) {
	if err := check(sql); err != nil {
		return nil, err
	}
	for _, name := range Tables(sql) {
		if err := d.load(ctx, in, name); err != nil {
			return nil, err
		}
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.engine.ask(ctx, d.dir, sql, rows)
}

// load loads a table, unless it is there.
func (d *Database) load(ctx context.Context, in *export.Input, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.loaded[name] {
		return nil
	}
	if n := events(in); name == "events" && n > MaxEvents {
		return &TooManyError{n}
	}
	of := *in
	of.Variant = name
	if name == "stacks" {
		of.Query.Metrics = table.Metrics
	}
	of.Query.By = query.ByStack
	if err := d.engine.load(ctx, d.dir, &of); err != nil {
		return errors.Join(err, d.engine.settle(ctx, d.dir))
	}
	d.loaded[name] = true
	return nil
}

// TooManyError says that the table of events would have more rows than MaxEvents.
type TooManyError struct{ Rows uint64 }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the table events would have %s rows, more than %s: select a range of time, a thread or "+
		"functions", humanize.Number(e.Rows), humanize.Number(MaxEvents))
}

// events is how many events a selection has; 0 if that is not known because it depends on what they are.
func events(in *export.Input) uint64 {
	q := &in.Query
	whole := q.Processes == nil && q.Threads == nil && q.FreedBy == nil && q.Sizes == nil && q.OldSizes == nil &&
		q.Lifetimes == nil && q.Regions == nil && q.Modules == nil && q.Focus == nil && q.Ignore == nil
	switch {
	case !whole:
		return 0
	case q.Range != nil:
		return q.Range.To - q.Range.From
	}
	return in.Reader.PromisedEvents()
}

// check refuses what would be a command to the engine's shell, not SQL.
func check(sql string) error {
	if strings.TrimSpace(sql) == "" {
		return &Error{"SQL", "nothing is asked"}
	}
	if strings.ContainsRune(sql, 0) {
		return &Error{"SQL", "there is a NUL character in it"}
	}
	for line := range strings.Lines(sql) {
		if strings.HasPrefix(strings.TrimSpace(line), ".") {
			return &Error{"SQL", fmt.Sprintf("%q is a command of a shell, not SQL", strings.TrimSpace(line))}
		}
	}
	return nil
}

package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/sqltool"
)

// Bounds of questions in SQL.
const (
	maxSQLRows = 1000
	maxSQLTime = time.Minute
)

// tables holds the database about the selection of a recording that was last asked about in SQL.
type tables struct {
	mu    sync.Mutex
	about string // recording and filters
	kept  *sharedDatabase
}

// sharedDatabase is a database that is removed once it is neither kept nor in use.
type sharedDatabase struct {
	*sqltool.Database
	users int // under the lock of tables
}

// open returns the database about a selection. The caller ends its use with release.
func (t *tables) open(ctx context.Context, about string) (*sharedDatabase, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || t.about != about {
		engine, err := sqltool.Find("")
		if err != nil {
			return nil, err
		}
		d, err := sqltool.Open(ctx, engine)
		if err != nil {
			return nil, err
		}
		t.drop()
		t.about, t.kept = about, &sharedDatabase{d, 1}
	}
	t.kept.users++
	return t.kept, nil
}

// release ends the use of a database.
func (t *tables) release(d *sharedDatabase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(d)
}

// drop ends keeping a database. The lock is held.
func (t *tables) drop() {
	if t.kept != nil {
		t.leave(t.kept)
		t.kept = nil
	}
}

func (t *tables) leave(d *sharedDatabase) {
	if d.users--; d.users == 0 {
		d.Close()
	}
}

// close removes the database. None may be in use.
func (t *tables) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop()
}

// inSQL answers a question in SQL; without one, it says what can be asked.
func inSQL(ctx context.Context, c *call, q *query.Query) (any, error) {
	if strings.TrimSpace(c.sql) == "" {
		return answer.NewSQLTables(), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxSQLTime, &Error{Status: http.StatusServiceUnavailable,
		Code: "too-slow", What: "the engine has no answer after " + maxSQLTime.String(), Where: "sql",
		Do: "select a range of time or functions, or ask for less"})
	defer cancel()
	d, err := c.shelf.tables.open(ctx, strings.Join(slices.Concat([]string{c.rec.identity}, c.filters), "\x00"))
	if err != nil {
		return nil, sqlError(err)
	}
	defer c.shelf.tables.release(d)
	rows := maxSQLRows
	if c.Limit > 0 {
		rows = min(rows, c.Limit)
	}
	in := &export.Input{Source: c.s, Query: *q, Asked: c.filters}
	r, err := d.Ask(ctx, in, c.sql, rows)
	if err != nil {
		return nil, sqlError(err)
	}
	return answer.NewSQLColumns(d.Engine(), r), nil
}

// sqlError makes the answer of an error.
func sqlError(err error) error {
	var wrong *sqltool.Error
	var missing *sqltool.MissingError
	var large *sqltool.TooManyError
	switch {
	case errors.As(err, &missing):
		return &Error{Status: http.StatusNotImplemented, Code: "no-engine", What: err.Error(), Where: "sql",
			Do: "install " + strings.Join(missing.Install, " or ") + ", and ask again"}
	case errors.As(err, &large):
		return badParameter("sql", err.Error(), "select less at the left")
	case errors.As(err, &wrong):
		return badParameter("sql", err.Error(), "the tables and their columns are those of docs/formats.md")
	}
	return err
}

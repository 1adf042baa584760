// Package sqltool answers questions in SQL about a recording, with an engine that is installed: DuckDB or SQLite's
// shell. What is asked is asked of the tables that docs/formats.md describes: stacks, frames, events, timeline.
//
// The engine is a program of its own. It loads the tables that a question names into a database in a temporary folder
// of the user, and then reads that database only: it cannot write, open other files, load extensions, use the network,
// or read the settings of the user. So a question that came from elsewhere does no harm.
package sqltool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/parquet"
	"github.com/heaptap/heaptap/internal/export/table"
	"github.com/heaptap/heaptap/internal/limited"
)

// Engine is a program that answers SQL.
type Engine struct {
	Name string // as users know it
	Path string // of the program
	kind *kind
}

// kind is what differs between engines.
type kind struct {
	program, name, install string
	types                  map[table.Kind]string // of columns
	load                   loader
	asking                 []string // what comes before the question
	before                 string   // what is said before the question
}

// loader writes a script that inserts the rows of a table, whose engine works in a folder.
type loader func(ctx context.Context, script *bufio.Writer, dir string, in *export.Input, t *table.Table) error

// kinds are the engines, the one that is preferred first.
var kinds = []*kind{
	{program: "duckdb", name: "DuckDB", install: "DuckDB (one file: https://duckdb.org)",
		types: map[table.Kind]string{table.Uint: "UBIGINT", table.Int: "BIGINT", table.Float: "DOUBLE",
			table.Text: "VARCHAR", table.Flag: "BOOLEAN"},
		load: loadParquet, asking: []string{"-batch", "-bail", "-readonly", "-json", file, "-c"},
		before: "SET enable_external_access = false; SET lock_configuration = true;"},
	{program: "sqlite3", name: "SQLite", install: "SQLite's shell (Debian's package sqlite3)",
		types: map[table.Kind]string{table.Uint: "INTEGER", table.Int: "INTEGER", table.Float: "REAL",
			table.Text: "TEXT", table.Flag: "BOOLEAN"},
		load: loadRows, asking: []string{"-batch", "-bail", "-readonly", "-safe", "-json", file}},
}

// Engines are the names of the programs that --engine may name, the preferred one first.
func Engines() (names []string) {
	for _, k := range kinds {
		names = append(names, k.program)
	}
	return names
}

// Find finds an engine on the PATH: this one, or, if program is "", the best. The error says what to install.
func Find(program string) (*Engine, error) {
	var missing []string
	for _, k := range kinds {
		if program != "" && program != k.program {
			continue
		}
		if path, err := exec.LookPath(k.program); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return &Engine{k.name, path, k}, nil
			}
		}
		missing = append(missing, k.install)
	}
	return nil, &MissingError{missing}
}

// MissingError says that no engine is installed.
type MissingError struct {
	Install []string // what to install: one of these
}

func (e *MissingError) Error() string {
	return "SQL needs an engine, and none is installed: install " + strings.Join(e.Install, " or ")
}

// Error is what an engine says of a question that it does not answer.
type Error struct {
	Engine, Text string
}

func (e *Error) Error() string { return e.Engine + ": " + e.Text }

// loadParquet has the engine read a Parquet file.
func loadParquet(ctx context.Context, w *bufio.Writer, dir string, in *export.Input, _ *table.Table) (err error) {
	path := filepath.Join(dir, in.Variant+".parquet")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(parquet.Format.Write(ctx, out, in), out.Flush(), f.Close()); err != nil {
		return err
	}
	// The working folder is dir.
	_, err = fmt.Fprintf(w, "INSERT INTO %[1]s SELECT * FROM read_parquet('%[1]s.parquet');\n", in.Variant)
	return err
}

// rowsAtOnce is how many rows a statement inserts.
const rowsAtOnce = 200

// loadRows has the engine insert rows that are written as SQL: exact, and with the values that are missing.
func loadRows(ctx context.Context, w *bufio.Writer, _ string, in *export.Input, t *table.Table) error {
	n := 0
	var text []byte
	err := t.Rows(ctx, func(row []table.Value) error {
		text = text[:0]
		switch {
		case n%rowsAtOnce == 0 && n > 0:
			text = append(text, ";\n"...)
			fallthrough
		case n == 0:
			text = append(append(append(text, "INSERT INTO "...), in.Variant...), " VALUES\n("...)
		default:
			text = append(text, ",\n("...)
		}
		for i := range row {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendSQL(text, &t.Columns[i], &row[i])
		}
		n++
		_, err := w.Write(append(text, ')'))
		return err
	})
	if err == nil && n > 0 {
		_, err = w.WriteString(";\n")
	}
	return err
}

// appendSQL appends a value as SQLite reads it.
func appendSQL(b []byte, c *table.Column, v *table.Value) []byte {
	switch {
	case v.Null:
		return append(b, "NULL"...)
	case c.Kind == table.Text:
		return append(append(append(b, '\''), strings.ReplaceAll(v.Text, "'", "''")...), '\'')
	case c.Kind == table.Int:
		return fmt.Append(b, v.Int)
	case c.Kind == table.Float:
		return fmt.Append(b, v.Float)
	}
	return fmt.Append(b, v.Uint)
}

// file is the name of the database.
const file = "tables.db"

// create makes the database, with tables that have no rows yet.
func (e *Engine) create(ctx context.Context, dir string) error {
	return e.write(ctx, dir, func(w *bufio.Writer) error {
		for _, v := range table.Variants("") {
			var columns []string
			for _, c := range table.Columns(v.Name) {
				columns = append(columns, `"`+c.Name+`" `+e.kind.types[c.Kind]) // offset is a word of SQL
			}
			fmt.Fprintf(w, "CREATE TABLE %s (%s);\n", v.Name, strings.Join(columns, ", "))
		}
		return nil
	})
}

// load writes the rows of the table that the input's variant names.
func (e *Engine) load(ctx context.Context, dir string, in *export.Input) error {
	t, err := table.Of(ctx, in)
	if err != nil {
		return err
	}
	return e.write(ctx, dir, func(w *bufio.Writer) error {
		_, _ = w.WriteString("BEGIN;\n") // Flush says what went wrong
		err := e.kind.load(ctx, w, dir, in, t)
		_, _ = w.WriteString("COMMIT;\n")
		return err
	})
}

// settle undoes what a script that ended early has left: an engine that may only read cannot.
func (e *Engine) settle(ctx context.Context, dir string) error {
	return e.write(context.WithoutCancel(ctx), dir, func(w *bufio.Writer) error {
		_, err := w.WriteString("SELECT count(*) FROM stacks;\n")
		return err
	})
}

// write has the engine do what a script says. After a script that ends early, see settle.
func (e *Engine) write(ctx context.Context, dir string, script func(w *bufio.Writer) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := e.command(running, dir, []string{"-batch", "-bail", file})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &limited.Writer{W: &said, Left: maxSaid}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	w := bufio.NewWriterSize(stdin, 1<<20)
	if err = script(w); err == nil {
		err = w.Flush()
	}
	if err != nil {
		cancel()
	}
	failed := errors.Join(stdin.Close(), cmd.Wait())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, syscall.EPIPE): // with it, the engine says why it has ended
		return err
	case failed != nil || said.Len() > 0:
		return &Error{e.Name, "cannot load the tables: " + what(said.String(), failed)}
	}
	return nil
}

// command is a call of the engine in a folder, apart from what surrounds it: it reads no settings of the user.
func (e *Engine) command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Path, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8",
		"TERM=dumb"}
	cmd.WaitDelay = 2 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if a signal ends heaptap
	return cmd
}

// maxSaid bounds what is kept of an engine's messages.
const maxSaid = 2000

// what says why an engine failed: by its own words, without the places of its own files.
func what(said string, failed error) string {
	// The first line says what is wrong; the next ones of SQLite repeat the question and point at a place in it.
	said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	for _, prefix := range []string{"Error: ", "in prepare, ", "stepping, ", "Parse error: ", "Runtime error: ",
		"line 0: "} {
		said = strings.TrimPrefix(said, prefix)
	}
	if said == "" && failed != nil {
		said = failed.Error()
	}
	if said == "" {
		said = "it ended early"
	}
	return said
}

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/sqltool"
	"github.com/heaptap/heaptap/internal/view"
)

// maxSQL bounds the bytes of a question that is read from a pipe.
const maxSQL = 1 << 20

// sqlFlags are the flags of heaptap sql.
type sqlFlags struct {
	queryFlags
	name, engine string
	list, csv    bool
	selected     []string // filters, as they were written
}

func newSQLCommand() *cobra.Command {
	q := &sqlFlags{}
	cmd := &cobra.Command{
		Use:   "sql [flags] [RUN] SQL",
		Short: "Answer a question in SQL",
		Long: `Sql puts a question to the recording's tables: stacks (a row for each call stack, with metrics), frames,
events and timeline. --list shows their columns, and questions that can be asked by name, with --query.

An engine that is installed answers: DuckDB or, without it, SQLite's shell. It reads copies of the tables
that the question names, in a temporary folder, and nothing else. The filters select what these tables
hold: a selection is faster than a WHERE. SQL may come from a pipe: -.`,
		Example: `  heaptap sql server.4711.htap "SELECT module, sum(leaked) FROM stacks GROUP BY module"
  heaptap sql --query handed-over server.4711.htap
  heaptap sql --csv --from 50% server.4711.htap "SELECT size, count(*) FROM events GROUP BY size"
  heaptap sql --json server.4711.htap "SELECT * FROM timeline" | jq '.rows[-1].live_bytes'
  heaptap sql --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			most := 2
			if q.name != "" {
				most = 1
			}
			switch {
			case q.list && len(args) > 0:
				return usagef("sql: --list takes no recording")
			case len(args) > most:
				return usagef("sql: too many arguments: it takes a run, and the question in quotes")
			case q.list || q.name != "":
				return nil
			case len(args) == 0, len(args) == 1 && input.Exists(args[0]):
				return usagef(`sql: the question is missing; for example: heaptap sql server.4711.htap ` +
					`"SELECT count(*) FROM stacks"; --list shows more`)
			}
			return nil
		},
	}
	f := cmd.Flags()
	q.filters(f)
	f.StringVar(&q.name, "query", "", "ask the question of this `NAME` (--list)")
	f.BoolVar(&q.list, "list", false, "list the tables with their columns, and the questions that have names")
	f.StringVar(&q.engine, "engine", "", "have this `PROGRAM` answer: "+strings.Join(sqltool.Engines(), ", ")+
		"; default: the first one that is installed")
	f.IntVar(&q.limit, "limit", 0, "show at most `N` rows; 0: all")
	f.BoolVar(&q.csv, "csv", false, "print comma-separated values")
	f.BoolVar(&q.json, "json", false, "print one JSON object")
	f.StringVar(&q.color, "color", "auto", "`WHEN` to use colours: auto (on terminals, unless NO_COLOR is set), "+
		"always, never")
	q.programs.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) }
	var names []string
	for _, known := range sqltool.Queries {
		names = append(names, known.Name)
	}
	complete(cmd, "query", names)
	complete(cmd, "engine", sqltool.Engines())
	return cmd
}

func (q *sqlFlags) run(cmd *cobra.Command, args []string) error {
	if q.list {
		if q.json {
			return answer.Write(cmd.OutOrStdout(), answer.NewSQLTables())
		}
		return view.SQLTables(cmd.OutOrStdout())
	}
	if q.csv && q.json {
		return usagef("sql: --csv and --json exclude each other")
	}
	if q.engine != "" && !slices.Contains(sqltool.Engines(), q.engine) {
		return unknownWord(cmd, "engine", q.engine, sqltool.Engines())
	}
	sql, args, err := q.question(cmd, args)
	if err != nil {
		return err
	}
	engine, err := sqltool.Find(q.engine)
	if err != nil {
		return err
	}
	q.selected = q.asked(cmd.Flags())
	s, o, err := q.open(cmd, args)
	if err != nil {
		return err
	}
	result, err := q.put(cmd, s, engine, sql)
	if err == nil {
		err = q.show(cmd, s, engine, result, o)
	}
	return errors.Join(err, s.Close())
}

// question returns the question, and the arguments that name the run.
func (q *sqlFlags) question(cmd *cobra.Command, args []string) (sql string, run []string, err error) {
	if q.name != "" {
		i := slices.IndexFunc(sqltool.Queries, func(known sqltool.Query) bool { return known.Name == q.name })
		if i < 0 {
			var names []string
			for _, known := range sqltool.Queries {
				names = append(names, known.Name)
			}
			return "", nil, unknownWord(cmd, "query", q.name, names)
		}
		return sqltool.Queries[i].SQL, args, nil
	}
	sql, run = args[len(args)-1], args[:len(args)-1]
	if sql != "-" {
		return sql, run, nil
	}
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxSQL+1))
	if err == nil && len(text) > maxSQL {
		err = usagef("sql: the question has more than %d bytes", maxSQL)
	}
	return string(text), run, err
}

// put has the engine answer.
func (q *sqlFlags) put(cmd *cobra.Command, s *query.Source, engine *sqltool.Engine, sql string) (*sqltool.Result,
	error) {
	about, err := q.query(cmd, s)
	if err != nil {
		return nil, err
	}
	d, err := sqltool.Open(cmd.Context(), engine)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	in := &export.Input{Source: s, Query: *about, Name: outfile.Name(s.Reader.Name()), Asked: q.selected}
	said := map[string]bool{}
	in.Missing = func(text string) {
		if !said[text] {
			fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: the tables have only the readable part: %s\n",
				escape.Terminal(text))
		}
		said[text] = true
	}
	limit := q.limit
	if limit == 0 {
		limit = -1
	}
	return d.Ask(cmd.Context(), in, sql, limit)
}

// show prints the result.
func (q *sqlFlags) show(cmd *cobra.Command, s *query.Source, engine *sqltool.Engine, r *sqltool.Result,
	o view.QueryOptions) error {
	out := cmd.OutOrStdout()
	switch {
	case q.csv:
		return view.SQLRows(out, r)
	case q.json:
		return answer.Write(out, answer.NewSQL(s, engine.Name, r))
	}
	if err := view.SQL(out, s, r, o.Options); err != nil {
		return err
	}
	if r.More {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: there are more rows than --limit %d\n", q.limit)
	}
	return nil
}

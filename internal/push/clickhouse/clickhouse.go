// Package clickhouse puts recordings into tables of a ClickHouse server, old (from 18.16 on) or new, over HTTP and by plain SQL.
//
//	recordings  a row for each recording, written last: what has one is whole
//	stacks, frames, timeline, events
//	            the tables of package table, with columns before theirs that say of which recording, host, program and build a row is
//
// A recording's id is a hash of what is in it and of what was asked, so the same one is found again. Rows come in batches, always the same
// ones, and a server writes a batch whole or not at all; so whoever pushes asks first which batches are there, and sends the others. That
// is how an interrupted push goes on, and why a call that failed may be made again. Rows that came twice nevertheless (a server that
// finished a call after it was given up) are equal in the table's key, and ReplacingMergeTree makes one of them when it merges.
package clickhouse

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/heaptap/heaptap/internal/push/call"
)

// DefaultDatabase is where the tables are if a URL names no database.
const DefaultDatabase = "heaptap"

// Server is a ClickHouse server, or the part of a cluster that is talked to.
type Server struct {
	client   *call.Client
	to       *url.URL
	database string
	tables   map[string]bool // that are known to be there
}

// New returns the server at a URL, http://[USER:PASSWORD@]HOST:PORT[/DATABASE] or with database=, user= and password= as parameters. User and
// password are those of the parameters, then of the URL, then the arguments.
func New(client *call.Client, server *url.URL, user, password string) (*Server, error) {
	s := &Server{client: client, database: strings.Trim(server.Path, "/")}
	to := *server
	to.Path = "/"
	q := to.Query()
	if to.User != nil {
		user = to.User.Username()
		password, _ = to.User.Password()
	}
	take := func(name, otherwise string) string {
		v := otherwise
		if q.Has(name) {
			v = q.Get(name)
		}
		q.Del(name)
		return v
	}
	s.database = take("database", s.database)
	user, password = take("user", user), take("password", password)
	if s.database == "" {
		s.database = DefaultDatabase
	}
	if strings.Contains(s.database, "/") {
		return nil, fmt.Errorf("%s: %q is not a database name; write %s/DATABASE", call.Server(server), s.database, call.Server(server))
	}
	to.RawQuery = q.Encode()
	to.User = nil
	if user != "" {
		client.Header.Set("X-ClickHouse-User", user)
		client.Header.Set("X-ClickHouse-Key", password)
	}
	s.to = &to
	return s, nil
}

// table is a table's name in SQL.
func (s *Server) table(name string) string { return quoted(s.database) + "." + quoted(name) }

// quoted is a name as SQL has it.
func quoted(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

// literal is a text as SQL has it.
func literal(text string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
}

// query asks and returns the rows of the answer, cut into fields.
func (s *Server) query(ctx context.Context, sql string) (rows [][]string, err error) {
	err = s.client.Do(ctx, func(ctx context.Context) error {
		answer, err := s.post(ctx, "", []byte(sql+" FORMAT TabSeparated"))
		rows = nil
		for line := range strings.Lines(string(answer)) {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		return err
	})
	return rows, err
}

// execute has something done that may be done twice.
func (s *Server) execute(ctx context.Context, sql string) error {
	return s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.post(ctx, "", []byte(sql))
		return err
	})
}

// post makes one try of a statement, which is the body, or an insert with the rows in the body.
func (s *Server) post(ctx context.Context, insert string, body []byte) ([]byte, error) {
	to := *s.to
	if insert != "" {
		q := to.Query()
		q.Set("query", insert)
		// Rows for a table that is distributed over a cluster arrive before the answer does.
		q.Set("insert_distributed_sync", "1")
		to.RawQuery = q.Encode()
	}
	answer, err := s.client.Post(ctx, &to, nil, body)
	if err != nil {
		return nil, told(err)
	}
	return answer, nil
}

// Package clickhouse writes recordings into tables of a ClickHouse server (18.16 or later), over HTTP and with plain
// SQL.
//
//	recordings  a row for each recording, written last: what has one is whole
//	stacks, frames, timeline, events
//	            the tables of package table, after columns for the recording, host, program and build
//
// A recording's id is a hash of its contents and of the question, so a repeated push finds the same rows. Rows are sent
// in batches that are the same each time, and a server writes a batch as a whole or not at all. A push first asks which
// batches are there, and sends the others. So an interrupted push can be resumed, and failed calls can be retried. Rows
// may still arrive twice, if a server completes a call that the client had given up. Such rows have the same key, and
// ReplacingMergeTree merges them.
package clickhouse

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/heaptap/heaptap/internal/push/call"
)

// DefaultDatabase is the database used if the URL names none.
const DefaultDatabase = "heaptap"

// Server is a ClickHouse server, or the node of a cluster that heaptap talks to.
type Server struct {
	client   *call.Client
	to       *url.URL
	database string
	tables   map[string]bool // tables that are known to exist
}

// New returns the server at a URL: http://[USER:PASSWORD@]HOST:PORT[/DATABASE], or with the parameters database=, user=
// and password=. User and password come from the parameters, else from the URL, else from the arguments.
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
		return nil, fmt.Errorf("%s: %q is not a database name; write %s/DATABASE", call.Server(server), s.database,
			call.Server(server))
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

// table returns a table's name in SQL.
func (s *Server) table(name string) string { return quoted(s.database) + "." + quoted(name) }

// quoted returns a name as an SQL identifier.
func quoted(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

// literal returns a text as an SQL string.
func literal(text string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
}

// query runs a query and returns the rows of the result, split into fields.
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

// execute runs a statement. Because it retries, the statement must be one that may run twice.
func (s *Server) execute(ctx context.Context, sql string) error {
	return s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.post(ctx, "", []byte(sql))
		return err
	})
}

// post makes one try of a statement. The body is the statement or, if insert is set, the rows to insert.
func (s *Server) post(ctx context.Context, insert string, body []byte) ([]byte, error) {
	to := *s.to
	if insert != "" {
		q := to.Query()
		q.Set("query", insert)
		// For a table that is distributed over a cluster: respond only when the rows have arrived.
		q.Set("insert_distributed_sync", "1")
		to.RawQuery = q.Encode()
	}
	answer, err := s.client.Post(ctx, &to, nil, body)
	if err != nil {
		return nil, parseFailure(err)
	}
	return answer, nil
}

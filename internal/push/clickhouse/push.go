package clickhouse

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/table"
)

// A batch ends when it has this many rows or bytes. A server inserts fewer rows than max_insert_block_size (about a
// million) as a whole or not at all.
const (
	batchRows  = 1 << 15
	batchBytes = 8 << 20
)

// Result says what was pushed.
type Result struct {
	ID      string
	Already bool   // the recording was there already
	Rows    uint64 // rows that were sent, without those of an earlier, interrupted push
	// Twice names the tables that have duplicate rows until the server merges them.
	Twice []string
	// OnlySums: the timeline is missing, because it needs events.
	OnlySums bool
}

// pusher pushes one recording.
type pusher struct {
	*Server
	in *export.Input
	Result
}

// Push writes a recording into the tables, with the table of events if events is set. The id identifies the contents: a
// recording whose id is there is not written again.
func (s *Server) Push(ctx context.Context, in *export.Input, id string, events bool) (*Result, error) {
	in.Query.Metrics = table.Metrics
	p := &pusher{Server: s, in: in, Result: Result{ID: id}}
	whole, err := p.mark(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	if !whole {
		names = append(names, "stacks", "frames", "timeline")
	}
	if events {
		names = append(names, "events")
	}
	for _, name := range names {
		err := p.table(ctx, name)
		if name == "timeline" && export.OnlySums(err) {
			p.OnlySums, err = true, nil
		}
		if err != nil {
			return nil, err
		}
	}
	if whole {
		p.Already = p.Rows == 0
		return &p.Result, nil
	}
	return &p.Result, p.recording(ctx)
}

// mark creates the table of recordings and reports whether this one is in it.
func (p *pusher) mark(ctx context.Context) (bool, error) {
	if err := p.ensure(ctx, "recordings", append(append([]column{}, keys...), facts...), "recording"); err != nil {
		return false, err
	}
	found, err := p.query(ctx, fmt.Sprintf("SELECT count() FROM %s WHERE recording = %s", p.Server.table("recordings"),
		literal(p.ID)))
	return len(found) == 1 && found[0][0] != "0", err
}

// keys adds the fields with which every row begins.
func (p *pusher) keys(r *rows) {
	process := p.in.Reader.Process()
	r.text(p.ID)
	r.time(process.Started)
	r.text(process.Host)
	r.text(p.in.Program())
	r.text(p.build())
}

// build returns the build id of the program, or "".
func (p *pusher) build() string {
	exe := p.in.Reader.Process().Exe
	for _, m := range p.in.Reader.Modules() {
		if m.Path == exe && exe != "" {
			return hex.EncodeToString(m.BuildID)
		}
	}
	return ""
}

// table sends the batches of a table that the server lacks.
func (p *pusher) table(ctx context.Context, name string) error {
	p.in.Variant = name
	t, err := table.Of(ctx, p.in)
	if err != nil {
		return err
	}
	columns := columnsOf(t)
	if err := p.ensure(ctx, name, columns, "recording, seq"); err != nil {
		return err
	}
	there, err := p.batches(ctx, name)
	if err != nil {
		return err
	}
	b := &batch{pusher: p, name: name, columns: namesOf(columns)}
	var seq uint64
	err = t.Rows(ctx, func(row []table.Value) error {
		p.keys(&b.rows)
		b.rows.uint(b.number)
		b.rows.uint(seq)
		b.rows.values(t.Columns, row)
		b.rows.end()
		b.count++
		seq++
		if b.count < batchRows && len(b.rows.b) < batchBytes {
			return nil
		}
		return b.send(ctx, there)
	})
	if err == nil && b.count > 0 {
		err = b.send(ctx, there)
	}
	if err != nil {
		return err
	}
	return p.merge(ctx, name, b.twice)
}

func namesOf(columns []column) string {
	var list []string
	for _, c := range columns {
		list = append(list, c.name)
	}
	return strings.Join(list, ", ")
}

// batches returns how many rows of this recording a table has, by batch.
func (p *pusher) batches(ctx context.Context, name string) (map[string]string, error) {
	found, err := p.query(ctx, fmt.Sprintf("SELECT batch, count() FROM %s WHERE recording = %s GROUP BY batch",
		p.Server.table(name), literal(p.ID)))
	there := make(map[string]string)
	for _, row := range found {
		if len(row) != 2 {
			return nil, fmt.Errorf("%s.%s: cannot parse the server's response", p.database, name)
		}
		there[row[0]] = row[1]
	}
	return there, err
}

// merge has the server merge duplicate rows.
func (p *pusher) merge(ctx context.Context, name string, twice bool) error {
	if !twice {
		return nil
	}
	months, err := p.query(ctx, fmt.Sprintf("SELECT DISTINCT toYYYYMM(started) FROM %s WHERE recording = %s",
		p.Server.table(name), literal(p.ID)))
	for _, month := range months {
		// A distributed table cannot be merged; its shards merge on their own.
		if p.execute(ctx, fmt.Sprintf("OPTIMIZE TABLE %s PARTITION %s FINAL", p.Server.table(name), month[0])) != nil {
			p.Twice = append(p.Twice, p.database+"."+name)
		}
	}
	return errors.Join(err, ctx.Err())
}

// batch collects the rows of a batch.
type batch struct {
	*pusher
	name, columns string
	rows          rows
	number, count uint64
	twice         bool // some rows were sent twice
}

// send sends the batch, unless the server has it, and begins the next one.
func (b *batch) send(ctx context.Context, there map[string]string) error {
	number, count := fmt.Sprint(b.number), fmt.Sprint(b.count)
	if there[number] != count {
		b.twice = b.twice || there[number] != ""
		if err := b.insert(ctx, number, count); err != nil {
			return err
		}
		b.Rows += b.count
	}
	b.rows = rows{b: b.rows.b[:0]}
	b.number++
	b.count = 0
	return nil
}

func (b *batch) insert(ctx context.Context, number, count string) error {
	where := fmt.Sprintf("recording = %s AND batch = %s", literal(b.ID), number)
	twice, err := b.Server.insert(ctx, b.name, b.columns, where, count, b.rows.b)
	b.twice = b.twice || twice
	return err
}

// insert inserts rows. Before a retry it asks the server whether all rows have arrived (count of them match where).
// twice says that some rows may have arrived twice.
func (s *Server) insert(ctx context.Context, name, columns, where, count string, body []byte) (twice bool, err error) {
	first := true
	err = s.client.Do(ctx, func(ctx context.Context) error {
		if !first {
			answer, err := s.post(ctx, "", fmt.Appendf(nil, "SELECT count() FROM %s WHERE %s", s.table(name), where))
			has := strings.TrimSpace(string(answer))
			if err != nil || has == count {
				return err
			}
			twice = twice || has != "0"
		}
		first = false
		_, err := s.post(ctx, fmt.Sprintf("INSERT INTO %s (%s) FORMAT TabSeparated", s.table(name), columns), body)
		return err
	})
	return twice, err
}

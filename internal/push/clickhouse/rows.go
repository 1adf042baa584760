package clickhouse

import (
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/export/table"
)

// rows builds rows in ClickHouse's format TabSeparated.
type rows struct {
	b     []byte
	begun bool // the current row has a field
}

func (r *rows) sep() {
	if r.begun {
		r.b = append(r.b, '\t')
	}
	r.begun = true
}

func (r *rows) end() {
	r.b = append(r.b, '\n')
	r.begun = false
}

var escapes = strings.NewReplacer("\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r", "\x00", "\\0")

func (r *rows) text(s string) {
	r.sep()
	r.b = append(r.b, escapes.Replace(strings.ToValidUTF8(s, "\uFFFD"))...)
}

func (r *rows) null() {
	r.sep()
	r.b = append(r.b, '\\', 'N')
}

func (r *rows) uint(v uint64) {
	r.sep()
	r.b = strconv.AppendUint(r.b, v, 10)
}

func (r *rows) int(v int64) {
	r.sep()
	r.b = strconv.AppendInt(r.b, v, 10)
}

// time adds a DateTime, given in ns since 1970: as seconds, with ten digits, by which servers recognise a Unix time.
func (r *rows) time(ns int64) {
	r.sep()
	seconds := strconv.FormatInt(min(max(ns/1e9, 0), 1<<32-1), 10)
	r.b = append(append(r.b, strings.Repeat("0", 10-len(seconds))...), seconds...)
}

// values adds the fields of a table's row.
func (r *rows) values(columns []table.Column, row []table.Value) {
	for i := range row {
		v := &row[i]
		switch kind := columns[i].Kind; {
		case v.Null && columns[i].Null:
			r.null()
		case kind == table.Int:
			r.int(v.Int)
		case kind == table.Float:
			r.sep()
			r.b = strconv.AppendFloat(r.b, v.Float, 'g', -1, 64)
		case kind == table.Text:
			r.text(v.Text)
		default:
			r.uint(v.Uint)
		}
	}
}

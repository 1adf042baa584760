package answer

import (
	"bytes"
	"encoding/json"

	"github.com/heaptap/heaptap/internal/export/table"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/sqltool"
)

// SQL is the answer to a question in SQL.
type SQL struct {
	FormatVersion int       `json:"format_version"`
	Recording     Recording `json:"recording"`
	Engine        string    `json:"engine"`
	Names         []string  `json:"names"` // of the rows' fields, in order
	Rows          []SQLRow  `json:"rows"`
	Truncated     bool      `json:"truncated"` // there are more rows
}

// SQLRow is a row: an object with the names that the question gave its columns.
type SQLRow struct {
	names  []string
	values []json.RawMessage
}

// MarshalJSON writes the values as the engine did.
func (r SQLRow) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range r.names {
		if i > 0 {
			b.WriteByte(',')
		}
		text, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b.Write(text)
		b.WriteByte(':')
		b.Write(r.values[i])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// NewSQL makes the answer.
func NewSQL(s *query.Source, engine string, r *sqltool.Result) *SQL {
	j := &SQL{FormatVersion: Version, Recording: NewRecording(s.Profile), Engine: engine, Names: r.Names,
		Rows: make([]SQLRow, len(r.Rows)), Truncated: r.More}
	if j.Names == nil {
		j.Names = []string{}
	}
	for i := range r.Rows {
		j.Rows[i] = SQLRow{r.Names, r.Rows[i]}
	}
	return j
}

// SQLTables are the tables that SQL may be about, and the questions that are shipped.
type SQLTables struct {
	FormatVersion int        `json:"format_version"`
	Engine        string     `json:"engine,omitempty"`  // the program that answers; "": none is installed
	Install       string     `json:"install,omitempty"` // without one: what to install
	Tables        []SQLTable `json:"tables"`
	Queries       []SQLQuery `json:"queries"`
}

// SQLTable is a table.
type SQLTable struct {
	Name    string   `json:"name"`
	Text    string   `json:"text"`
	Columns []string `json:"columns"`
}

// SQLQuery is a question that is shipped.
type SQLQuery struct {
	Name     string `json:"name"`
	Question string `json:"question"`
	SQL      string `json:"sql"`
}

// NewSQLTables makes the answer.
func NewSQLTables() *SQLTables {
	j := &SQLTables{FormatVersion: Version}
	if e, err := sqltool.Find(""); err != nil {
		j.Install = err.Error()
	} else {
		j.Engine = e.Name
	}
	for _, v := range table.Variants("") {
		t := SQLTable{Name: v.Name, Text: v.Text}
		for _, c := range table.Columns(v.Name) {
			t.Columns = append(t.Columns, c.Name)
		}
		j.Tables = append(j.Tables, t)
	}
	for _, q := range sqltool.Queries {
		j.Queries = append(j.Queries, SQLQuery(q))
	}
	return j
}

// SQLColumns is an answer as columns, for the app.
type SQLColumns struct {
	Engine    string      `json:"engine"`
	Length    int         `json:"length"` // rows
	Fields    []SQLColumn `json:"fields"`
	Truncated bool        `json:"truncated"` // there are more rows
}

// SQLColumn is a column. Values are texts, so that no digit of a large number is lost.
type SQLColumn struct {
	Name    string   `json:"name"`
	Number  bool     `json:"number"` // all values are numbers, or missing
	Values  []string `json:"values"`
	Missing []int    `json:"missing"` // the rows that have no value
}

// NewSQLColumns makes the answer.
func NewSQLColumns(engine string, r *sqltool.Result) *SQLColumns {
	j := &SQLColumns{Engine: engine, Length: len(r.Rows), Fields: make([]SQLColumn, len(r.Names)), Truncated: r.More}
	for k, name := range r.Names {
		c := &j.Fields[k]
		*c = SQLColumn{Name: name, Number: true, Values: make([]string, len(r.Rows)), Missing: []int{}}
		for i := range r.Rows {
			v := r.Rows[i][k]
			c.Values[i] = sqltool.Text(v)
			switch {
			case sqltool.IsMissing(v):
				c.Missing = append(c.Missing, i)
			case !sqltool.IsNumber(v):
				c.Number = false
			}
		}
	}
	return j
}

package sqltool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/need"
)

// TestQueriesAreDocumented: docs/formats.md shows the questions that are shipped.
func TestQueriesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Ten questions in SQL\n")
	section, _, _ = strings.Cut(section, "\n#")
	var got []Query
	find := regexp.MustCompile("(?s)\\n([^\\n]+) \\(`([a-z-]+)`\\)\\n\\n```sql\\n(.*?)\\n```")
	for _, m := range find.FindAllStringSubmatch(section, -1) {
		got = append(got, Query{Name: m[2], Question: m[1], SQL: m[3]})
	}
	if !slices.Equal(got, Queries) {
		t.Errorf("docs/formats.md has %q\nshipped are %q", got, Queries)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT 1":             "",
		"select * from EVENTS": "events",
		"SELECT * FROM events JOIN stacks USING (stack)":  "stacks events",
		"SELECT 'timeline', my_stacks, framesets FROM x":  "timeline",
		"with f as (select * from \"frames\") select 1":   "frames",
		"SELECT * FROM stacks s, frames f, timeline, foo": "stacks frames timeline",
	} {
		if got := strings.Join(Tables(sql), " "); got != want {
			t.Errorf("%s: %s, expected %s", sql, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"", " \n", ".shell id", "SELECT 1\n  .shell id", "SELECT 1;\r\n.read x", "a\x00b"} {
		var wrong *Error
		if err := check(sql); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", sql, err)
		}
	}
	for _, sql := range []string{"SELECT 1", "SELECT\n a.b, .5"} {
		if err := check(sql); err != nil {
			t.Errorf("%q: %v", sql, err)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		rows   int
		names  string
		values string // by row
		more   bool
		wrong  string
	}{
		{"", 9, "", "", false, ""},
		{"[]\n", 9, "", "", false, ""},
		{"[{]\n", 9, "", "", false, ""},
		{`[{"a":1,"b":"x","a":null},` + "\n" + `{"a":18446744073709551615,"b":[1,{}],"a":true}]` + "\n", 9, "a b a",
			`1 "x" null|18446744073709551615 [1,{}] true`, false, ""},
		{`[{"a":1},{"a":2},{"a":3}]`, 2, "a", "1|2", true, ""},
		{`[{"a":1},{"a":2}]`, 2, "a", "1|2", false, ""},
		{`[{"a":1}][{"b":1}]`, 9, "", "", false, "more than one question"},
		{`[{"a":1},{"a":1,"b":2}]`, 9, "", "", false, "differ"},
		{`[{"a":1},{"a":`, 9, "", "", false, "cannot be read"},
		{`[{"a":1}`, 9, "", "", false, "cannot be read"},
		{`{"a":1}`, 9, "", "", false, "is no list"},
		{`Error`, 9, "", "", false, "cannot be read"},
	} {
		r, err := readResult(strings.NewReader(c.answer), c.rows)
		if errors.Is(err, errEnough) {
			err = nil
		}
		if err != nil || c.wrong != "" {
			if c.wrong == "" || err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, expected %q", c.answer, err, c.wrong)
			}
			continue
		}
		var rows []string
		for _, row := range r.Rows {
			var cells []string
			for _, v := range row {
				cells = append(cells, string(v))
			}
			rows = append(rows, strings.Join(cells, " "))
		}
		names := strings.Join(r.Names, " ")
		if names != c.names || strings.Join(rows, "|") != c.values || r.More != c.more {
			t.Errorf("%s: %q %q %v", c.answer, names, rows, r.More)
		}
	}
}

// FuzzResult: what an engine writes cannot do harm; rows that are read are JSON.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{"", "[{]", `[{"a":1,"b":"x"},{"a":null,"b":[{}]}]`, `[{}]`, `[{},{}]`, `[[]]`, `{`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		r, err := readResult(io.LimitReader(strings.NewReader(answer), maxResult), 3)
		if r == nil {
			if err == nil {
				t.Fatal("neither a result nor an error")
			}
			return
		}
		for _, row := range r.Rows {
			if len(row) != len(r.Names) {
				t.Fatalf("%d values, %d names", len(row), len(r.Names))
			}
			for _, v := range row {
				if !json.Valid(v) {
					t.Fatalf("%q", v)
				}
				_ = Text(v)
			}
		}
	})
}

// TestInterrupted: when the rows of a table are cut off, the tables that are there can still be asked about.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	e, err := Find("sqlite3")
	if err != nil {
		need.Lacks(t, err.Error())
	}
	dir := t.TempDir()
	if err := e.create(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = e.write(ctx, dir, func(w *bufio.Writer) error {
		_, _ = w.WriteString("PRAGMA cache_size = 10;\nBEGIN;\n")
		for range 20_000 {
			_, _ = w.WriteString("INSERT INTO frames (stack, name) VALUES (1, 'a name that takes room');\n")
		}
		_ = w.Flush()
		// The engine has begun to write once its journal is there.
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, file+"-journal")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := e.settle(ctx, dir); err != nil {
		t.Fatal(err)
	}
	r, err := e.ask(t.Context(), dir, "SELECT count(*) FROM frames", -1)
	if err != nil || string(r.Rows[0][0]) != "0" {
		t.Errorf("%+v, %v", r, err)
	}
}

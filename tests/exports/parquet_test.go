package exports

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/tests/need"
)

type parquetTable struct {
	Columns []parquetColumn
	Rows    int
	Facts   map[string]string
}

type parquetColumn struct {
	Name, Type string
	Values     []*string
}

// TestParquet has a library read the files: they hold what the same tables hold as CSV.
func TestParquet(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		for _, variant := range []string{"", ":frames", ":events", ":timeline"} {
			table := judge[parquetTable](t, "parquet", exported(t, "parquet"+variant, path))[0]
			if table.Facts["heaptap.recording"] != name {
				t.Errorf("facts: %v", table.Facts)
			}
			sameAsCSV(t, variant, &table, exported(t, "csv"+variant, path))
			if variant == "" {
				checkSums(t, &table, totals(t, path))
			}
		}
	})
}

func checkSums(t *testing.T, table *parquetTable, want map[string]uint64) {
	t.Helper()
	for metric, n := range want {
		column, sum := strings.ReplaceAll(metric, "-", "_"), uint64(0)
		found := false
		for _, c := range table.Columns {
			if c.Name != column {
				continue
			}
			found = true
			for _, v := range c.Values {
				one, err := strconv.ParseUint(*v, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				sum += one
			}
		}
		if !found || sum != n {
			t.Errorf("%s: %d, expected %d", column, sum, n)
		}
	}
}

func sameAsCSV(t *testing.T, what string, table *parquetTable, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows)-1 != table.Rows || len(rows[0]) != len(table.Columns) {
		t.Fatalf("%s: %d rows of %d columns, expected %d of %d", what, table.Rows, len(table.Columns), len(rows)-1,
			len(rows[0]))
	}
	for i, c := range table.Columns {
		if c.Name != rows[0][i] || len(c.Values) != table.Rows {
			t.Fatalf("%s: column %d is %q with %d values, expected %q with %d", what, i, c.Name, len(c.Values),
				rows[0][i], table.Rows)
		}
		for k, v := range c.Values {
			got := ""
			switch {
			case v == nil:
			case c.Type == "BOOLEAN":
				got = map[string]string{"true": "1", "false": "0"}[*v]
			case c.Type == "STRING":
				got = escape.Cell(*v)
			default:
				got = *v
			}
			if got != rows[k+1][i] {
				t.Fatalf("%s: column %s, row %d: %.200q, expected %.200q", what, c.Name, k, got, rows[k+1][i])
			}
		}
	}
}

// TestHyparquet has the npm package hyparquet read the files: the reader of many viewers in browsers.
func TestHyparquet(t *testing.T) {
	root, err := exec.Command("npm", "root", "-g").Output()
	folder := strings.TrimSpace(string(root))
	if set := os.Getenv("HYPARQUET"); set != "" {
		folder = set
	}
	text, missing := os.ReadFile(filepath.Join(folder, "hyparquet/package.json"))
	if err != nil && folder == "" || missing != nil {
		need.Lacks(t, "hyparquet is not there: npm install -g hyparquet hyparquet-compressors, or their folder in "+
			"$HYPARQUET")
	}
	var p struct{ Version string }
	decode(t, text, &p)
	t.Logf("hyparquet %s", p.Version)
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		var read struct {
			Rows int
			Sums map[string]json.Number
		}
		decode(t, tool(t, "node", "testdata/hyparquet.mjs", folder, exported(t, "parquet", path)), &read)
		for metric, n := range want {
			if got := string(read.Sums[strings.ReplaceAll(metric, "-", "_")]); got != strconv.FormatUint(n, 10) &&
				(n > 0 || got != "") {
				t.Errorf("%s: %s, expected %d", metric, got, n)
			}
		}
		decode(t, tool(t, "node", "testdata/hyparquet.mjs", folder, exported(t, "parquet:events", path)), &read)
		if n := want["allocations"] + want["deallocations"]; uint64(read.Rows) < n {
			t.Errorf("%d events, expected at least %d", read.Rows, n)
		}
	})
}

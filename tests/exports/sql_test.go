package exports

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/sqltool"
	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// engines are folders with one engine each.
func engines(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	sqlite := t.TempDir()
	if err := os.Symlink(need.Tool(t, "sqlite3"), filepath.Join(sqlite, "sqlite3")); err != nil {
		t.Fatal(err)
	}
	list["sqlite3"] = sqlite
	root, err := exec.Command("npm", "root", "-g").Output()
	folder := strings.TrimSpace(string(root))
	if _, missing := os.Stat(filepath.Join(folder, "@duckdb/node-api")); err != nil || missing != nil {
		need.Lacks(t, "DuckDB's engine is not there: npm install -g @duckdb/node-api")
	}
	shim, err := filepath.Abs("testdata/duckdb.mjs")
	if err != nil {
		t.Fatal(err)
	}
	duckdb := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' '%s' \"$@\"\n", need.Tool(t, "node"), shim, folder)
	if err := os.WriteFile(filepath.Join(duckdb, "duckdb"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	list["duckdb"] = duckdb
	return list
}

// asks puts a question to a recording; only the engine in the folder can be found.
func asks(t *testing.T, folder string, args ...string) (out, said string, err error) {
	t.Helper()
	cmd := exec.Command(kit.Binary(t), append([]string{"sql"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+folder)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// TestSQL has each engine answer the questions that are shipped, and compares with what heaptap's other commands say.
func TestSQL(t *testing.T) {
	for engine, folder := range engines(t) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, name, path string) {
				if engine == "duckdb" && !slices.Contains([]string{"four", "empty", "python"}, name) {
					return // it takes long to start node
				}
				var answers [][][]any
				for _, q := range sqltool.Queries {
					out, said, err := asks(t, folder, "--json", "--query", q.Name, path)
					if err != nil {
						t.Fatalf("%s: %v: %s", q.Name, err, said)
					}
					var got struct {
						Names []string
						Rows  []map[string]any
					}
					decode(t, []byte(out), &got)
					var rows [][]any
					for _, r := range got.Rows {
						var row []any
						for _, name := range got.Names {
							row = append(row, r[name])
						}
						rows = append(rows, row)
					}
					answers = append(answers, rows)
				}
				checkAnswers(t, path, answers, totals(t, path))
			})
		})
	}
}

// TestSQLIsSealed: a question cannot do anything but read the tables.
func TestSQLIsSealed(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	recording, outside := list["python"], t.TempDir()
	secret := filepath.Join(outside, "secret.csv")
	if err := os.WriteFile(secret, []byte("word\nsesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(outside, "written")
	for engine, folder := range engines(t) {
		for _, sql := range []string{
			"SELECT * FROM read_csv('" + secret + "')", "SELECT readfile('" + secret + "')",
			"SELECT * FROM '" + secret + "'", "ATTACH '" + target + "' AS x",
			"COPY (SELECT 1) TO '" + target + "'", "SELECT writefile('" + target + "', 'x')",
			"SET enable_external_access = true", "SELECT edit('x')", "INSTALL httpfs", "LOAD spatial",
			"DELETE FROM timeline", "CREATE TABLE x (a INTEGER)", "DROP TABLE stacks",
			".shell touch " + target, "SELECT 1;\n.shell touch " + target, ".read " + secret, ".output " + target,
			"PRAGMA temp_store_directory = '" + outside + "'; SELECT load_extension('x')",
		} {
			out, said, err := asks(t, folder, "--json", recording, sql)
			if strings.Contains(out, "sesame") {
				t.Errorf("%s: %s: %s", engine, sql, out)
			}
			if err == nil || !strings.HasPrefix(said, "heaptap: ") || strings.Count(said, "\n") != 1 {
				t.Errorf("%s: %s: %v, %q, %s", engine, sql, err, said, out)
			}
		}
		if files, err := os.ReadDir(outside); err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", engine, files, err)
		}
		// It still answers.
		out, said, err := asks(t, folder, "--json", recording, "SELECT count(*) AS n FROM timeline")
		var got struct{ Rows []struct{ N json.Number } }
		if err != nil {
			t.Fatalf("%s: %v: %s", engine, err, said)
		}
		decode(t, []byte(out), &got)
		kit.Same(t, engine, got.Rows[0].N, "1001")
	}
}

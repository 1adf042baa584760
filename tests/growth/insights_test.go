package growth

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// standsOut records a command and returns what stands out in its report: rule and function.
func standsOut(t *testing.T, words ...string) (list []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.htap")
	kit.Heaptap(t, append([]string{"run", "-q", "-o", path, "--"}, words...)...)
	type report struct {
		Insights []struct {
			Rule, Name, Text string
			Share            float64
		}
	}
	for _, r := range kit.JSON[report](t, "report", "--json", path) {
		for _, x := range r.Insights {
			t.Logf("%s (%.1f %%)", x.Text, 100*x.Share)
			list = append(list, x.Rule+" "+x.Name)
		}
	}
	return list
}

// TestFaults: a program with a fault has it in its report, under the name of the function, and nothing else.
func TestFaults(t *testing.T) {
	t.Parallel()
	include, err := filepath.Abs("../../include")
	if err != nil {
		t.Fatal(err)
	}
	program := kit.Compile(t, "gcc", "-O1", "-I"+include, "src/faults.c", "-ldl")
	for _, name := range []string{"nothing", "growth", "recurring", "reallocations", "temporaries", "mappings",
		"unreturned"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want []string
			if name != "nothing" {
				want = []string{name + " " + name}
			}
			if got := standsOut(t, program, name); !slices.Equal(got, want) {
				t.Errorf("%q stand out, want %q", got, want)
			}
		})
	}
}

// TestInnocent: nothing stands out in programs that others rely on, but that an interpreter or a compiler has most of
// its memory in pools of its own.
func TestInnocent(t *testing.T) {
	t.Parallel()
	sql := "create table t(a, b); begin;\n" +
		strings.Repeat("insert into t values(random(), 'a row of the table');\n", 20000) +
		"commit; create index i on t(a); select count(*) from t group by b;\n"
	script := filepath.Join(t.TempDir(), "t.sql")
	source := filepath.Join(t.TempDir(), "t.cc")
	text := "#include <map>\n#include <string>\n#include <regex>\nint main() { std::map<std::string, std::regex> m; " +
		"m[\"a\"] = std::regex(\"b+\"); return m.size() - 1; }\n"
	for path, content := range map[string]string{script: sql, source: text} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, words := range map[string][]string{
		"sqlite": {"sqlite3", "-init", script, ":memory:", ".quit"},
		"python": {"python3", "-c", "import json, decimal\nfor i in range(3000):\n" +
			" json.loads(json.dumps({str(k): [k] * 20 for k in range(100)}))"},
		"perl": {"perl", "-e", "for my $i (1 .. 300000) { $h{$i % 5000} = \"v\" x ($i % 90); } print length(join('', " +
			"values %h)), \"\\n\";"},
		"compiler": {"g++", "-std=c++17", "-O1", "-g", "-c", "-o", filepath.Join(t.TempDir(), "t.o"), source},
		"files":    {"ls", "-lR", "/usr/share"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need.Tool(t, words[0])
			got := slices.DeleteFunc(standsOut(t, words...), func(x string) bool {
				return strings.HasPrefix(x, "mappings ")
			})
			if len(got) > 0 {
				t.Errorf("%q stand out", got)
			}
		})
	}
}

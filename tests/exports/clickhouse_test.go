package exports

import (
	"encoding/csv"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/need"
)

// clickhouse is a server of ClickHouse.
type clickhouse struct{ url string }

const clickhouseConfig = `<yandex>
	<logger><level>warning</level><console>1</console></logger>
	<http_port>HTTP</http_port><tcp_port>TCP</tcp_port><listen_host>127.0.0.1</listen_host>
	<path>FOLDER/data/</path><tmp_path>FOLDER/tmp/</tmp_path><user_files_path>FOLDER/files/</user_files_path>
	<format_schema_path>FOLDER/schemas/</format_schema_path><users_config>FOLDER/users.xml</users_config>
	<default_profile>default</default_profile><default_database>default</default_database>
	<mark_cache_size>268435456</mark_cache_size>
	<remote_servers><one><shard><replica><host>127.0.0.1</host><port>TCP</port></replica></shard></one></remote_servers>
</yandex>`

const clickhouseUsers = `<yandex>
	<profiles><default/><reader><readonly>1</readonly></reader></profiles><quotas><default/></quotas>
	<users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks>
			<profile>default</profile><quota>default</quota></default>
		<writer><password>se/cret:1</password><networks><ip>127.0.0.1</ip></networks>
			<profile>default</profile><quota>default</quota></writer>
		<reader><password>secret</password><networks><ip>127.0.0.1</ip></networks>
			<profile>reader</profile><quota>default</quota></reader>
	</users>
</yandex>`

// startClickHouse starts the server that all tests share, in a folder of its own. It ends with the tests, when
// stopClickHouse is called.
var (
	stopClickHouse  = func() {}
	startClickHouse = sync.OnceValues(func() (*clickhouse, error) {
		folder := filepath.Join(dir, "clickhouse")
		if err := os.Mkdir(folder, 0o777); err != nil {
			return nil, err
		}
		ports := [2]string{}
		for i := range ports {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			defer l.Close() // after both are known
			_, ports[i], _ = net.SplitHostPort(l.Addr().String())
			l.Close()
		}
		config := strings.NewReplacer("FOLDER", folder, "HTTP", ports[0], "TCP", ports[1]).Replace(clickhouseConfig)
		for name, text := range map[string]string{"config.xml": config, "users.xml": clickhouseUsers} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
				return nil, err
			}
		}
		said, err := os.Create(filepath.Join(folder, "log"))
		if err != nil {
			return nil, err
		}
		// It ends with its standard input, and so with the tests, however they end.
		cmd := exec.Command("sh", "-c", `clickhouse-server --config-file="$0" & read _; kill -9 $!`,
			filepath.Join(folder, "config.xml"))
		cmd.Dir, cmd.Stdout, cmd.Stderr = folder, said, said
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		stopClickHouse = func() {
			in.Close()
			_ = cmd.Wait()
		}
		s := &clickhouse{"http://127.0.0.1:" + ports[0]}
		for range 300 {
			if r, err := http.Get(s.url + "/ping"); err == nil {
				return s, r.Body.Close()
			}
			time.Sleep(100 * time.Millisecond)
		}
		text, _ := os.ReadFile(said.Name())
		return nil, fmt.Errorf("clickhouse-server does not answer: %.2000s", text)
	})
)

func theClickHouse(t *testing.T) *clickhouse {
	t.Helper()
	need.Tool(t, "clickhouse-server")
	s, err := startClickHouse()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// do executes a statement and returns the server's answer. Body follows the statement.
func (s *clickhouse) do(t *testing.T, database, sql string, body io.Reader) []byte {
	t.Helper()
	q := url.Values{"query": {sql}, "database": {database}, "output_format_json_quote_64bit_integers": {"0"}}
	response, err := http.Post(s.url+"/?"+q.Encode(), "", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %.500s", sql, err, answer)
	}
	return answer
}

// ask returns the rows of an answer.
func (s *clickhouse) ask(t *testing.T, database, sql string) [][]any {
	t.Helper()
	var answer struct{ Data [][]any }
	decode(t, s.do(t, database, sql+" FORMAT JSONCompact", nil), &answer)
	return answer.Data
}

// one returns the number that is the answer.
func (s *clickhouse) one(t *testing.T, database, sql string) uint64 {
	t.Helper()
	n, _ := s.ask(t, database, sql)[0][0].(float64)
	return uint64(n)
}

// queriesOf are the SQL statements of a page, from a heading on to the next.
func queriesOf(t *testing.T, page, heading string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n### "+heading+"\n")
	if !ok {
		t.Fatalf("%s: no %q", page, heading)
	}
	section, _, _ = strings.Cut(section, "\n##")
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)\n```").FindAllStringSubmatch(section, -1) {
		list = append(list, m[1])
	}
	return list
}

// checkQueries asks the ten questions of formats.md.
func (s *clickhouse) checkQueries(t *testing.T, database, path string, want map[string]uint64) {
	t.Helper()
	var answers [][][]any
	for _, sql := range queriesOf(t, "../../docs/formats.md", "Ten questions in SQL") {
		answers = append(answers, s.ask(t, database, sql))
	}
	checkAnswers(t, path, answers, want)
}

// columnTypes are what a table's columns are declared as, by the head of its CSV and what docs/formats.md says of them.
func columnTypes(table string, head []string) string {
	texts := []string{"kind", "function", "file", "module", "frames", "name", "linkage", "offset", "address"}
	null := map[string][]string{"stacks": {"function", "file", "line", "module"},
		"frames": {"function", "linkage", "file", "line", "module", "offset"},
		"events": {"block", "usable", "address", "born_ns", "born_by", "free_stack",
			"alignment"}, "timeline": {"resident_bytes"}}
	flags := []string{"inlined", "realloc", "in_place", "late"}
	var list []string
	for _, c := range head {
		typ := "UInt64"
		switch {
		case slices.Contains(texts, c):
			typ = "String"
		case strings.HasSuffix(c, "_ns"):
			typ = "Int64"
		case slices.Contains(flags, c), table == "events" && c == "temporary":
			typ = "UInt8"
		case c == "mean_lifetime":
			typ = "Float64"
		}
		if slices.Contains(null[table], c) {
			typ = "Nullable(" + typ + ")"
		}
		list = append(list, c+" "+typ)
	}
	return strings.Join(list, ", ")
}

// TestClickHouseLoads has ClickHouse load the tables that are exported, and answers of it compared with the report.
func TestClickHouseLoads(t *testing.T) {
	s := theClickHouse(t)
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		for format, as := range map[string]string{"csv": "CSVWithNames", "jsonl": "JSONEachRow"} {
			database := format + "_" + name
			s.do(t, "default", "CREATE DATABASE "+database, nil)
			for _, table := range []string{"stacks", "frames", "events", "timeline"} {
				variant := strings.TrimSuffix(":"+table, ":stacks")
				head, err := csv.NewReader(strings.NewReader(read(t, exported(t, "csv"+variant, path)))).Read()
				if err != nil {
					t.Fatal(err)
				}
				s.do(t, database, fmt.Sprintf("CREATE TABLE %s (%s) ENGINE = MergeTree() ORDER BY tuple()", table,
					columnTypes(table, head)), nil)
				rows := read(t, exported(t, format+variant, path))
				s.do(t, database, "INSERT INTO "+table+" FORMAT "+as, strings.NewReader(rows))
			}
			s.checkQueries(t, database, path, want)
		}
	})
}

// TestClickHousePush pushes each recording into a database of its own, and asks the same.
func TestClickHousePush(t *testing.T) {
	s := theClickHouse(t)
	each(t, func(t *testing.T, name, path string) {
		database := "push_" + name
		out := command(t, "push", "--clickhouse", s.url+"/"+database, "--events", path)
		if !strings.Contains(string(out), " rows; recording ") {
			t.Errorf("%s", out)
		}
		want := totals(t, path)
		s.checkQueries(t, database, path, want)
		s.checkSums(t, database, "", want)
		if out := command(t, "push", "--clickhouse", s.url+"/"+database, "--events",
			path); !strings.Contains(string(out), ": was there; ") {
			t.Errorf("again: %s", out)
		}
		s.checkSums(t, database, "", want)
	})
}

// checkSums holds that tables have what the report says of a recording; "": there is one only.
func (s *clickhouse) checkSums(t *testing.T, database, recording string, want map[string]uint64) {
	t.Helper()
	where := ""
	if recording != "" {
		where = " WHERE recording = '" + recording + "'"
	}
	for _, m := range []string{"allocations", "bytes", "deallocations", "freed", "peak", "peak-blocks", "leaked",
		"leaked-blocks", "temporary", "temporary-bytes"} {
		column := strings.ReplaceAll(m, "-", "_")
		for _, table := range []string{"stacks", "recordings"} {
			if n := s.one(t, database, "SELECT sum("+column+") FROM "+table+where); n != want[m] {
				t.Errorf("%s.%s: %s %d, expected %d", database, table, m, n, want[m])
			}
		}
	}
	if n := s.one(t, database, "SELECT count(*) FROM recordings"+where); n != 1 {
		t.Errorf("%s: %d recordings", database, n)
	}
}

// TestClickHouseMany pushes all recordings into one database, the one that is made by default, and asks the questions
// of docs/push.md.
func TestClickHouseMany(t *testing.T) {
	s := theClickHouse(t)
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"push", "--clickhouse", s.url}
	all := map[string]uint64{}
	peaks := map[uint64]int{}
	for _, path := range list {
		args = append(args, path)
		want := totals(t, path)
		for m, n := range want {
			all[m] += n
		}
		peaks[want["peak"]]++
	}
	command(t, args...)
	answers := make([][][]any, 0, 10)
	for _, sql := range queriesOf(t, "../../docs/push.md", "Ten questions to many recordings") {
		// Of which all is compared.
		answers = append(answers, s.ask(t, "heaptap", strings.ReplaceAll(sql, " LIMIT 100", "")))
	}
	if len(answers) != 10 {
		t.Fatalf("%d queries", len(answers))
	}
	for _, row := range answers[0] {
		peaks[uint64(row[4].(float64))]--
	}
	for peak, n := range peaks {
		if n != 0 {
			t.Errorf("peak %d: %d runs too many", peak, -n)
		}
	}
	sum := func(rows [][]any, column int) (n uint64) {
		for _, row := range rows {
			n += uint64(row[column].(float64))
		}
		return n
	}
	for i, c := range []struct {
		query, column int
		metric        string
	}{
		{1, 6, "bytes"}, {2, 3, "leaked"}, {3, 3, "leaked"}, {3, 4, "leaked-blocks"},
		{4, 3, "allocations"}, {4, 4, "bytes"}, {8, 2, "temporary"},
	} {
		if n := sum(answers[c.query], c.column); n != all[c.metric] {
			t.Errorf("%d: %s %d, expected %d", i, c.metric, n, all[c.metric])
		}
	}
	if len(answers[7]) < len(inputs) || len(answers[5]) == 0 {
		t.Errorf("few rows: %v", answers[7])
	}
}

// TestClickHouseCluster has the tables be Distributed, as docs/push.md says.
func TestClickHouseCluster(t *testing.T) {
	s := theClickHouse(t)
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	command(t, "push", "--clickhouse", s.url+"/each_has", "--events", list["one"])
	for _, sql := range strings.Split(queriesOf(t, "../../docs/push.md", "A cluster")[0], ";") {
		sql = strings.NewReplacer("CLUSTER", "one", "heaptap_local", "each_has", "heaptap.", "all_have.",
			"DATABASE heaptap", "DATABASE all_have").Replace(sql)
		s.do(t, "default", strings.TrimSpace(sql), nil)
	}
	out := command(t, "push", "--clickhouse", s.url+"/all_have", "--events", list["four"])
	id := regexp.MustCompile(`recording (\w+)`).FindStringSubmatch(string(out))[1]
	want := totals(t, list["four"])
	for _, database := range []string{"all_have", "each_has"} {
		s.checkSums(t, database, id, want)
	}
	n := s.one(t, "all_have", "SELECT count(*) FROM events WHERE kind = 'alloc' AND recording = '"+id+"'")
	if n != want["allocations"] {
		t.Errorf("%d events", n)
	}
}

package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Real returns the cases of real programs that are installed; missing names the other programs. Scale 1 is the size of
// `make test-programs`.
func (k *Kit) Real(scale float64) (cases []Case, missing []string) {
	n := func(full int) int { return max(int(float64(full)*scale), 1) }
	add := func(program string, c Case) {
		path, err := exec.LookPath(program)
		if err != nil {
			missing = append(missing, program)
			return
		}
		if c.Args[0] == "" {
			c.Args[0] = path
		}
		cases = append(cases, c)
	}
	add("sqlite3", Case{Name: "sqlite3", Args: []string{"", ":memory:"}, Stdin: SQL(n(400_000))})
	add("/usr/bin/python3", Case{Name: "python3", Args: []string{"", "-c", PythonJSON(n(30))},
		Env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}})
	add("g++", Case{Name: "g++", Args: []string{"", "-O2", "-std=c++17", "-c", "-o", "heavy.o", "heavy.cc"},
		Outputs: []string{"heavy.o"}, Prepare: func(dir string) error { return source(dir, scale) }})
	add("git", Case{Name: "git log", Args: []string{"", "-C", "repository", "log", "--stat", "-p", "--color=never"},
		Prepare: func(dir string) error { return gitRepository(filepath.Join(dir, "repository"), n(2000)) },
		Threads: true})
	add("node", Case{Name: "node", Args: []string{"", "-e", nodeScript(n(300_000))}, Threads: true, JIT: true})
	add("xz", Case{Name: "xz -T2", Args: []string{"", "-T2", "-1", "-k", "--block-size=2MiB", "-c", "input"},
		Prepare: func(dir string) error { return textFile(filepath.Join(dir, "input"), n(48<<20)) }, Threads: true})
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		missing = append(missing, "redis-benchmark")
	} else {
		add("redis-server", Redis(n(50_000)))
	}
	return cases, missing
}

// SQL returns a bulk insert of n rows into memory, with an index and a query.
func SQL(n int) string {
	return fmt.Sprintf(`
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, grp INTEGER, val REAL);
WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i < %d)
INSERT INTO t SELECT i, 'name-' || (i * 7919 %% 1000003), i * 31 %% 997, i / 3.0 FROM c;
CREATE INDEX by_name ON t(name);
SELECT grp, count(*), sum(val), min(name), group_concat(id %% 10, '') FROM t GROUP BY grp ORDER BY grp LIMIT 20;
SELECT count(DISTINCT name) FROM t;
`, n)
}

// PythonJSON returns a program that parses and dumps a document n times.
func PythonJSON(n int) string {
	return fmt.Sprintf(`
import json
doc = [{"id": i, "name": "item %%d" %% i, "tags": ["a%%d" %% (i %% 17), "b"], "pos": [i / 3, i / 7],
        "sub": {"k": None, "v": i * i}} for i in range(2000)]
text = json.dumps(doc)
total = 0
for _ in range(%d):
    back = json.loads(text)
    total += len(json.dumps(back, indent=1))
print(total)
`, n)
}

func nodeScript(n int) string {
	return fmt.Sprintf(`
const m = new Map();
for (let i = 0; i < %d; i++) m.set('key' + (i * 7919 %% 100003), { i, s: 'x'.repeat(i %% 50) });
const text = JSON.stringify([...m].slice(0, 20000));
const parts = Buffer.concat(Array.from({ length: 200 }, (_, i) => Buffer.from(text.slice(i * 10, i * 10 + 5000))));
console.log(m.size, text.length, parts.length, require('crypto').createHash('sha256').update(parts).digest('hex'),
	require('zlib').deflateSync(parts).length);
`, n)
}

// Heavy returns a C++ file to be compiled; at a small scale, without its heavy headers.
func Heavy(scale float64) ([]byte, error) {
	if scale < 0.2 {
		return []byte("#include <map>\n#include <string>\nint f(std::map<int, std::string> &m) { return " +
			"(int)m[3].size(); }\n"), nil
	}
	return sources.ReadFile("src/heavy.cc")
}

// source writes that file into a case's folder.
func source(dir string, scale float64) error {
	b, err := Heavy(scale)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "heavy.cc"), b, 0o644)
}

// textFile writes n bytes that compress neither badly nor too well.
func textFile(path string, n int) error {
	var b bytes.Buffer
	for i := uint64(1); b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d %x\n", i, i*0x9e3779b97f4a7c15>>40)
	}
	return os.WriteFile(path, b.Bytes()[:n], 0o644)
}

// gitRepository creates a repository with n commits, the same each time.
func gitRepository(dir string, n int) error {
	var b strings.Builder
	lines := make([]string, 60)
	for i := 0; i < n; i++ {
		for j := range lines {
			if i == 0 || (i*7+j)%23 == 0 {
				lines[j] = fmt.Sprintf("line %d as of commit %d", j, i)
			}
		}
		text, message := strings.Join(lines, "\n")+"\n", fmt.Sprintf("Change number %d\n", i)
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata %d\n%s", 1_600_000_000+i,
			len(message), message)
		fmt.Fprintf(&b, "M 100644 inline dir%d/file%d.txt\ndata %d\n%s\n", i%5, i%37, len(text), text)
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w\n%s", err, out)
	}
	cmd := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(b.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w\n%s", err, out)
	}
	return nil
}

// Redis runs a server on a socket in its working directory. Its clients, redis-benchmark with n requests of each kind
// and redis-cli, are not recorded.
func Redis(n int) Case {
	return Case{
		Name: "redis-server",
		Args: []string{"", "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no",
			"--daemonize", "no", "--loglevel", "warning", "--enable-debug-command", "yes"},
		IgnoreStdout: true,
		Threads:      true,
		Drive: func(ctx context.Context, dir string) (string, error) {
			socket := filepath.Join(dir, "redis.sock")
			client := func(args ...string) (string, error) {
				cmd := exec.CommandContext(ctx, args[0], append([]string{"-s", socket}, args[1:]...)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
				}
				return string(out), nil
			}
			for i := 0; ; i++ {
				out, err := client("redis-cli", "ping")
				if err == nil && strings.Contains(out, "PONG") {
					break
				}
				if i > 200 {
					return "", fmt.Errorf("redis-server does not answer: %w", err)
				}
				time.Sleep(50 * time.Millisecond)
			}
			var all strings.Builder
			for _, args := range [][]string{
				{"redis-cli", "config", "get", "maxmemory"},
				{"redis-cli", "eval", fmt.Sprintf("for i = 1, %d do redis.call('set', 'key' .. i, string.rep('x', i "+
					"%% 300)); redis.call('rpush', 'list' .. i %% 10, i) end; return redis.call('dbsize')", n/10), "0"},
				{"redis-cli", "debug", "digest"},
				{"redis-cli", "eval", "local s = 0; for _, k in ipairs(redis.call('keys', '*')) do s = s + " +
					"(redis.call('type', k).ok == 'string' and redis.call('strlen', k) or redis.call('llen', k)) " +
					"end; return s", "0"},
			} {
				out, err := client(args...)
				if err != nil {
					return "", err
				}
				all.WriteString(out)
			}
			if _, err := client("redis-benchmark", "-q", "-n", fmt.Sprint(n), "-t",
				"set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100", "-r", "10000", "-d", "100"); err != nil {
				return "", err
			}
			cmd := exec.CommandContext(ctx, "redis-cli", "-s", socket, "shutdown", "nosave")
			_ = cmd.Run() // the server closes the connection instead of answering
			return all.String(), nil
		},
	}
}

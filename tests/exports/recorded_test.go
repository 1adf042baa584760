package exports

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/tests/programs"
)

// inputs are the programs that are recorded. Each comes with what it has to have in a folder, which is its working
// directory.
var inputs = []struct {
	name  string
	setUp func(dir string) (programs.Case, error)
}{
	{"sqlite", func(string) (programs.Case, error) {
		return programs.Case{Args: []string{"sqlite3", ":memory:", `create table t(a,b);
			with recursive c(x) as (select 1 union all select x+1 from c where x<3000)
				insert into t select x, hex(x) from c;
			create index i on t(b); select count(*) from t group by substr(b,1,2);`}}, nil
	}},
	{"python", func(string) (programs.Case, error) {
		// Not a script that starts it.
		out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
		return programs.Case{Args: []string{strings.TrimSpace(string(out)), "-S", "-c",
			`x = [{"a": list(range(50)), "b": str(i)} for i in range(2000)]`},
			Env: []string{"PYTHONMALLOC=malloc"}}, err
	}},
	{"cc1plus", func(dir string) (programs.Case, error) {
		const text = "template <int N> struct S { S<N - 1> s; };\ntemplate <> struct S<0> {};\nint f(S<99> *a) { " +
			"return sizeof *a; }\n"
		src := filepath.Join(dir, "src")
		if err := os.Mkdir(src, 0o777); err != nil {
			return programs.Case{}, err
		}
		if err := os.WriteFile(filepath.Join(src, "heavy.cc"), []byte(text), 0o666); err != nil {
			return programs.Case{}, err
		}
		args, err := programs.Compiler(dir)
		return programs.Case{Args: args}, err
	}},
	{"redis", func(string) (programs.Case, error) {
		path, err := exec.LookPath("redis-server")
		c := programs.Redis(100)
		c.Args[0] = path
		return c, err
	}},
	{"four", func(string) (programs.Case, error) {
		four := filepath.Join(dir, "four")
		if out, err := exec.Command("g++", "-O2", "-g", "-pthread", "-o", four,
			"testdata/four.cc").CombinedOutput(); err != nil {
			return programs.Case{}, fmt.Errorf("g++: %w\n%s", err, out)
		}
		return programs.Case{Args: []string{four}}, nil
	}},
}

// recorded makes the recordings, once.
var recorded = sync.OnceValues(func() (map[string]string, error) {
	list := map[string]string{}
	for _, in := range inputs {
		list[in.name] = filepath.Join(dir, in.name+".htap")
		folder := filepath.Join(dir, "in-"+in.name)
		if err := os.Mkdir(folder, 0o777); err != nil {
			return nil, err
		}
		c, err := in.setUp(folder)
		if err == nil {
			err = record(&c, folder, list[in.name])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.name, err)
		}
	}
	for name, write := range map[string]func(path string) error{"torture": torture, "one": one, "empty": empty} {
		list[name] = filepath.Join(dir, name+".htap")
		if err := write(list[name]); err != nil {
			return nil, err
		}
	}
	return list, nil
})

// record records a program that runs in a folder.
func record(c *programs.Case, folder, path string, flags ...string) error {
	args := append([]string{"run", "-q", "--single", "-o", path}, flags...)
	cmd := exec.Command(heaptap, append(append(args, "--"), c.Args...)...)
	cmd.Dir = folder
	cmd.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+dir), c.Env...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	if c.Drive != nil {
		if _, err := c.Drive(context.Background(), folder); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return err
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, out.String())
	}
	return nil
}

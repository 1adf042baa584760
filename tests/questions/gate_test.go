package questions

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGate asks whether a program stays within limits, as continuous integration does: memcheck has the same verdict.
func TestGate(t *testing.T) {
	t.Parallel()
	u := newUser(t, "leak")
	u.types("gcc -g -O1 -o server server.c && gcc -g -O1 -o lines lines.c")

	u.types("valgrind -q --leak-check=full --error-exitcode=9 ./lines")
	u.types("heaptap run --check --max-leaked 0 -- ./lines")
	u.types("heaptap check --max-leaked 0 --no-growth").says(1, `^ok  lines\.\d+\.htap$`)

	u.ends(9, "valgrind -q --leak-check=full --error-exitcode=9 ./server")
	run := u.ends(1, "heaptap run -q --check --max-leaked 0 -- ./server")
	run.out = run.err
	run.says(3, `^FAIL .*\./server\n +FAIL +leaked 31\.\d kB, limit 0 B`)
	c := u.ends(1, "heaptap check --max-leaked 0").fits()
	c.where(`the last run made here`)
	c.says(4, `^FAIL .*\./server\n +FAIL +leaked 31\.\d kB, limit 0 B.*\n +30\.0 kB +\d\d\.\d %  render +server\.c:14`)
	u.grows(`^ +FAIL .* kept growing\n.* render +server\.c:14`, "heaptap run -q ./server && heaptap check --no-growth")
	u.types("heaptap check --max-leaked 200kB")

	// A filter that nothing matches judges nothing; a function that never allocates is within the limit.
	typo := u.ends(125, "heaptap check --focus '^rendr$' --max-allocations 0")
	typo.out += typo.err
	typo.says(6, `\^rendr\$`)
	u.ends(1, "heaptap check --focus '^render$' --max-allocations 0")
	u.types("heaptap run -q ./lines && heaptap check --focus '^hot$' --max-allocations 0")

	// A suggested rule names the function that forgets, and so hides no other leak.
	u.types("heaptap run -q -o server.htap ./server && heaptap leaks --suggest server.htap > rules")
	rules, _ := os.ReadFile(filepath.Join(u.dir, "rules"))
	a := answer{u, "heaptap leaks --suggest", string(rules), ""}
	a.says(screen, `^leak:\^render\$`)
	u.types("heaptap check --suppressions rules --max-leaked 0 server.htap")
	if bytes.Contains(rules, []byte("main$")) {
		t.Errorf("the rules hide everything:\n%s", rules)
	}

	// The command is a script: the program in it is judged, not the shell and its helpers.
	script := "#!/bin/bash\nsleep 0.01\n./server | cat\n"
	if err := os.WriteFile(filepath.Join(u.dir, "tests.sh"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	run = u.ends(1, "heaptap run -q --check --max-leaked 0 -- ./tests.sh")
	run.out = run.err
	run.says(2, `^FAIL .*\./server\n +FAIL +leaked 31\.\d kB`)
}

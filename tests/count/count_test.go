package count

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// known does a worked example whose totals are counted by hand below, after taking what happened before main as a
// base: blocks of the loader and of libc are the same in a program that does nothing.
const known = `
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#include <malloc.h>
int main(int argc, char **argv) {
	if (argc < 2) _exit(0);
	void *volatile a = malloc(100);         // 1: live 100
	void *volatile b = calloc(3, 7);        // 2: live 121
	a = realloc(a, 1000);                   // 3: live 1021, the peak
	free(b);                                // live 1000
	void *volatile c = NULL;
	if (posix_memalign((void **)&c, 64, 5)) // 4: live 1005
		_exit(1);
	free(c);                                // temporary
	free(NULL);
	void *volatile d = realloc(NULL, 10);   // 5: live 1010
	d = realloc(d, 0);                      // live 1000
	volatile size_t huge = (size_t)1 << 62;
	void *volatile e = malloc(huge);        // failed
	e = realloc(a, huge);                   // failed, a lives on
	e = reallocarray(a, huge, 16);          // failed
	(void)e;
	int status;
	if (fork() == 0) {
		free(a);                        // inherited
		void *volatile f = malloc(11);  // leaked
		(void)f;
		_exit(0);
	}
	wait(&status);
	_exit(status);
}
`

func TestCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(dir, "known.c")
	if err := os.WriteFile(src, []byte(known), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O0", "-D_GNU_SOURCE", "-w", "-o", src+".out",
		src).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	run := func(args ...string) []Totals {
		t.Helper()
		d := t.TempDir()
		cmd := exec.Command(src+".out", args...)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+lib, "COUNT_DIR="+d)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all, err := Read(d)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	base := Totals{}
	if b := run(); len(b) == 1 { // no file if nothing was allocated
		base = b[0]
	}
	all := run("x")
	if len(all) != 2 {
		t.Fatalf("%d count files, want the process and its child", len(all))
	}
	got, child := all[0], all[1]
	if got.Forked {
		got, child = child, got
	}
	check := func(name string, got, want uint64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	check("allocations", got.Allocations-base.Allocations, 5)
	check("deallocations", got.Deallocations-base.Deallocations, 4)
	check("bytes", got.Bytes-base.Bytes, 100+21+1000+5+10)
	check("failed", got.Failed-base.Failed, 3)
	check("reallocations", got.Reallocations-base.Reallocations, 1)
	check("unmatched", got.Unmatched, 0)
	check("leaked bytes", got.LeakedBytes-base.LeakedBytes, 1000)
	check("leaked blocks", got.LeakedBlocks-base.LeakedBlocks, 1)
	check("peak bytes", got.PeakBytes-base.LeakedBytes, 1021)
	check("peak blocks", got.PeakBlocks-base.LeakedBlocks, 2)
	check("temporary", got.Temporary-base.Temporary, 2) // c; d, by realloc to 0
	check("overlaps", got.Overlaps, 0)
	if !child.Forked || child.PPID != got.PID {
		t.Errorf("child: forked %v, parent %d, want true, %d", child.Forked, child.PPID, got.PID)
	}
	check("child's allocations", child.Allocations, 1)
	check("child's unmatched", child.Unmatched, 1)
	check("child's leaked bytes", child.LeakedBytes, 11)
}

package questions

import (
	"regexp"
	"testing"
)

// TestLeak asks what a server leaks that forgets one request in a hundred.
func TestLeak(t *testing.T) {
	t.Parallel()
	u := newUser(t, "leak")
	u.types("gcc -g -O1 -o server server.c")
	a := u.types("heaptap run ./server").summary().fits()
	m := a.says(screen, `^  leaked +`+quantity+` in ([\d,]+) blocks`)
	bytes, blocks := number(t, m[1]), number(t, m[2])

	judge := u.memcheck("./server")
	in := judge.says(40, `in use at exit: ([\d,]+) bytes in ([\d,]+) blocks`)
	near(t, "leaked bytes, by memcheck", bytes, number(t, in[1]), 0.01)
	near(t, "leaked blocks, by memcheck", blocks, number(t, in[2]), 0)
	lost := judge.says(40, `in ([\d,]+) blocks are definitely lost(?:.*\n)+? +.*open_session \(server\.c:21\)`)

	for _, w := range []*user{u, u.wide()} {
		l := w.types("heaptap leaks").fits()
		l.where(`the last run made here`)
		l.says(4, `^LEAKED  `+regexp.QuoteMeta(m[1])+` in `+m[2]+` blocks at 3 call stacks$`)
		// The first row: the page, its function and line, and that 50 of 5,000 were not freed.
		l.says(9, `^ +30\.0 kB +\d\d\.\d %  render +server\.c:14.*\n +`+lost[1]+` blocks  open_session .*\n`+
			` +of 5,000  handle +server\.c:38`)
	}
	u.grows(`^KEPT GROWING.*\n.*\n.* render server\.c:14`, "heaptap run -q ./server && heaptap leaks")
	again := u.types("heaptap report").says(screen, `^  leaked +`+quantity)
	near(t, "leaked in the report", number(t, again[1]), bytes, 0)
}

// grows holds that a line says that memory grows. A busy machine may hold up a program in the middle, so that it does
// not grow steadily: then once more.
func (u *user) grows(pattern, line string) {
	u.Helper()
	for try := 0; ; try++ {
		out, _ := u.command(line).Output()
		if regexp.MustCompile(`(?m)` + pattern).Match(out) {
			return
		} else if try == 4 {
			u.Fatalf("$ %s   # %d times not %q\n%s", line, try+1, pattern, out)
		}
	}
}

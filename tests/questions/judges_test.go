package questions

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heaptap/heaptap/tests/need"
)

// massif is the largest heap that valgrind's massif saw of a program, in bytes.
func (u *user) massif(program string) float64 {
	u.Helper()
	need.Tool(u, "valgrind")
	u.types("valgrind -q --tool=massif --peak-inaccuracy=0.0 --massif-out-file=massif.out " + program)
	out, err := os.ReadFile(filepath.Join(u.dir, "massif.out"))
	if err != nil {
		u.Fatal(err)
	}
	most := 0.0
	for _, m := range regexp.MustCompile(`(?m)^mem_heap_B=(\d+)$`).FindAllSubmatch(out, -1) {
		most = max(most, number(u, string(m[1])))
	}
	return most
}

// memcheck is what valgrind's memcheck says at the end of a program.
func (u *user) memcheck(program string) answer {
	u.Helper()
	need.Tool(u, "valgrind")
	a := u.types("valgrind --leak-check=full " + program)
	a.out = regexp.MustCompile(`(?m)^==\d+== `).ReplaceAllString(a.err, "")
	return a
}

// heaptracked is what heaptrack says of a program.
type heaptracked struct {
	answer
	peak   float64 // bytes; less what heaptrack itself brings along
	leaked float64
	most   string // what held most at the peak, with call stacks
}

// emergency is a pool for exceptions that libstdc++ allocates when it is loaded. heaptrack loads it into every program.
const emergency = 72_704

// heaptrack has heaptrack record a program.
func (u *user) heaptrack(program string) heaptracked {
	u.Helper()
	need.Tool(u, "heaptrack")
	dir := u.TempDir()
	u.types("heaptrack -o " + dir + "/track " + program)
	a := u.types("heaptrack_print " + dir + "/track.*")
	h := heaptracked{answer: a}
	last := a.out[max(0, len(a.out)-1000):]
	for pattern, value := range map[string]*float64{"peak heap memory consumption": &h.peak,
		"total memory leaked": &h.leaked} {
		m := regexp.MustCompile(pattern + `: ([\d.]+)([KMG]?)`).FindStringSubmatch(last)
		if m == nil {
			u.Fatalf("heaptrack_print says no %s:\n%s", pattern, last)
		}
		*value = number(u, m[1]+strings.ReplaceAll(m[2], "K", "k"))
	}
	_, h.most, _ = strings.Cut(a.out, "PEAK MEMORY CONSUMERS\n")
	if i := strings.Index(h.most, "\n\nMOST TEMPORARY"); i >= 0 {
		h.most = h.most[:i]
	}
	return h
}

// maximum is the largest resident set of a program by time, in bytes.
func (u *user) maximum(program string) float64 {
	u.Helper()
	need.File(u, "/usr/bin/time")
	a := u.types("/usr/bin/time -v " + program + " </dev/null")
	m := regexp.MustCompile(`Maximum resident set size \(kbytes\): (\d+)`).FindStringSubmatch(a.err)
	if m == nil {
		u.Fatal(a.err)
	}
	return number(u, m[1]) * 1024
}

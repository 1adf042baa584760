package symbolize

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/event"
)

// maxPerfName limits a name in a perf map, maxPerfLines the number of lines that are read.
const (
	maxPerfName  = 4096
	maxPerfLines = 1 << 26
)

// perfMap names code from a JIT compiler: lines of start, size (both hexadecimal) and name. Code may have been replaced
// while the program ran; the last line that covers an address is the newest.
func (s *Symbolizer) perfMap(ctx context.Context, j *job) {
	if s.o.PerfMap == "" {
		return
	}
	f, err := os.OpenFile(s.o.PerfMap, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		if !os.IsNotExist(err) {
			j.note("%s: no names of compiled code: %v", s.o.PerfMap, err)
		}
		return
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		j.note("%s: no names of compiled code: not a regular file", s.o.PerfMap)
		return
	}
	if st.Uid != 0 && st.Uid != s.o.User && st.Uid != uint32(os.Geteuid()) {
		j.note("%s: no names of compiled code: the file belongs to user %d, not to the program's user", s.o.PerfMap,
			st.Uid)
		return
	}
	r := bufio.NewReaderSize(f, 2*maxPerfName)
	for n := 0; n < maxPerfLines; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return
		}
		line, err := r.ReadSlice('\n')
		for tail := line; err == bufio.ErrBufferFull; { // a long name: its beginning suffices
			line = slices.Clone(line)
			tail, err = r.ReadSlice('\n')
			_ = tail
		}
		if err != nil && len(line) == 0 {
			return
		}
		start, size, name, ok := perfLine(string(line))
		if !ok {
			continue
		}
		i, _ := slices.BinarySearch(j.addrs, start)
		for ; i < len(j.addrs) && j.addrs[i]-start < size; i++ {
			j.frames[i] = []event.Frame{{Function: name}}
		}
	}
}

func perfLine(line string) (start, size uint64, name string, ok bool) {
	a, rest, ok1 := strings.Cut(line, " ")
	b, name, ok2 := strings.Cut(rest, " ")
	start, err1 := strconv.ParseUint(strings.TrimPrefix(a, "0x"), 16, 64)
	size, err2 := strconv.ParseUint(strings.TrimPrefix(b, "0x"), 16, 64)
	name = strings.TrimSpace(name[:min(len(name), maxPerfName)])
	return start, size, name, ok1 && ok2 && err1 == nil && err2 == nil && name != ""
}

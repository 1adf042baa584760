package symbolize

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
)

// addr2line asks a tool for the frames of addresses, leaf to root; nil where it knows nothing.
func addr2line(t *testing.T, tool, file string, addrs []uint64) [][]event.Frame {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	args := []string{"-a", "-i", "-f", "-C", "-e", file}
	if tool != "addr2line" {
		args = append(args, "--output-style=GNU")
	}
	cmd := exec.Command(tool, args...)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	frames := make([][]event.Frame, 0, len(addrs))
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			frames = append(frames, nil)
			i++
			continue
		}
		if i+1 >= len(lines) || len(frames) == 0 {
			t.Fatalf("addr2line: unexpected output near line %d: %q", i, lines[i])
		}
		f := event.Frame{Function: lines[i]}
		place, _, _ := strings.Cut(lines[i+1], " (discriminator")
		colon := strings.LastIndexByte(place, ':')
		if f.File = place[:colon]; f.File == "??" {
			f.File = ""
		}
		line, _ := strconv.ParseUint(place[colon+1:], 10, 32)
		f.Line = uint32(line)
		if f.Function == "??" {
			f.Function = ""
		}
		last := len(frames) - 1
		if f != (event.Frame{}) {
			frames[last] = append(frames[last], f)
		}
		i += 2
	}
	if len(frames) != len(addrs) {
		t.Fatalf("addr2line answered %d of %d addresses", len(frames), len(addrs))
	}
	return frames
}

var cloneNote = regexp.MustCompile(`( \[clone [^\]]*\]|\.(part|isra|constprop|cold|lto_priv)(\.[0-9]+)?)+$`)

// rustHash matches what c++filt adds to crates' names and to numbers.
var rustHash = regexp.MustCompile(`\[[0-9a-f]{12,16}\]|::h[0-9a-f]{16}$|:[ui](size|[0-9]+)\b`)

// lambda matches a lambda expression's number, which demanglers write in different ways: {lambda(int)#2}, 'lambda0'(int).
var lambda = regexp.MustCompile(`(\{lambda\(([^{}]*)\)#[0-9]+\}|'lambda[0-9]*'\(([^')]*)\))`)

var spelled sync.Map // what spelling answered before: names are long, and expressions slow under the race detector

// spelling reduces a function's name to what two demanglers agree on.
func spelling(name string) string {
	if s, ok := spelled.Load(name); ok {
		return s.(string)
	}
	s := reduce(name)
	spelled.Store(name, s)
	return s
}

func reduce(name string) string {
	if strings.Contains(name, "lambda") {
		name = lambda.ReplaceAllString(name, "lambda($2$3)")
	}
	name = rustHash.ReplaceAllString(name, "")
	name = cloneNote.ReplaceAllString(name, "")
	name = strings.ReplaceAll(name, "> >", ">>")
	name = strings.ReplaceAll(name, "> >", ">>")
	return strings.ReplaceAll(name, " ", "")
}

package symbols

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Ask asks a tool that is called like addr2line, with more arguments where there are any, for the frames of addresses,
// leaf to root; nil where it knows nothing.
func Ask(ctx context.Context, tool, file string, addrs []uint64, more ...string) ([][]event.Frame, error) {
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	args := []string{"-a", "-i", "-f", "-C", "-e", file}
	if tool != "addr2line" {
		args = append(args, "--output-style=GNU")
	}
	args = append(args, more...)
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", tool, strings.Join(args, " "), err, stderr.Bytes())
	}
	frames, err := parse(string(out))
	if err == nil && len(frames) != len(addrs) {
		err = fmt.Errorf("it answered %d of %d addresses", len(frames), len(addrs))
	}
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", tool, file, err)
	}
	return frames, nil
}

// parse reads what addr2line -a -i -f writes: an address, then for every frame a line with the function and one with
// the place.
func parse(out string) ([][]event.Frame, error) {
	var frames [][]event.Frame
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "0x") {
			frames = append(frames, nil)
			continue
		}
		if i+1 >= len(lines) || len(frames) == 0 {
			return nil, fmt.Errorf("unexpected output in line %d: %q", i+1, lines[i])
		}
		f := event.Frame{Function: known(lines[i])}
		i++
		place, _, _ := strings.Cut(lines[i], " (discriminator")
		colon := strings.LastIndexByte(place, ':')
		if colon < 0 {
			return nil, fmt.Errorf("line %d has no place: %q", i+1, lines[i])
		}
		f.File = known(place[:colon])
		line, _ := strconv.ParseUint(place[colon+1:], 10, 32) // "?": 0
		f.Line = uint32(line)
		if f != (event.Frame{}) {
			last := len(frames) - 1
			frames[last] = append(frames[last], f)
		}
	}
	return frames, nil
}

// known is "" for what the tools write where they know nothing.
func known(s string) string {
	if s == "??" {
		return ""
	}
	return s
}

package symbols

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// Demangle returns the frames with the names that c++filt makes of their linkage names, and of the names that heaptap
// could not demangle.
func Demangle(frames [][]event.Frame) ([][]event.Frame, error) {
	names := map[string]string{}
	for _, list := range frames {
		for _, f := range list {
			names[linkage(f)] = ""
		}
	}
	delete(names, "")
	if err := filt(names); err != nil {
		return nil, err
	}
	again := make([][]event.Frame, len(frames))
	for i, list := range frames {
		again[i] = slices.Clone(list)
		for k := range again[i] {
			if name := names[linkage(again[i][k])]; name != "" {
				again[i][k].Function = name
			}
		}
	}
	return again, nil
}

func linkage(f event.Frame) string {
	if f.Linkage == "" {
		return f.Function
	}
	return f.Linkage
}

// filt fills in what c++filt makes of each name.
func filt(names map[string]string) error {
	var in []string
	for n := range names {
		in = append(in, n)
	}
	if len(in) == 0 {
		return nil
	}
	cmd := exec.Command("c++filt")
	cmd.Stdin = strings.NewReader(strings.Join(in, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("c++filt: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(in) {
		return fmt.Errorf("c++filt answered %d of %d names", len(lines), len(in))
	}
	for i, n := range in {
		names[n] = lines[i]
	}
	return nil
}

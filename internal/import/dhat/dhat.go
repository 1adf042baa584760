// Package dhat reads data files of DHAT, Valgrind's heap profiler, in version 2 of their form: see package export/dhat.
//
// Lifetimes are left out: DHAT's are also those of blocks that were never freed.
package dhat

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/import/valgrind"
	"github.com/heaptap/heaptap/internal/import/whole"
	"github.com/heaptap/heaptap/internal/merge"
)

// Is reports whether a file that begins so is one of DHAT's.
func Is(head []byte) bool {
	head = bytes.TrimSpace(head)
	return len(head) > 0 && head[0] == '{' && bytes.Contains(head, []byte(`"dhatFileVersion"`))
}

// allocator is in the names of the functions that Valgrind puts in malloc's place.
const allocator = "/vgpreload_"

// file is what is read of a file.
type file struct {
	Version *int     `json:"dhatFileVersion"`
	Mode    string   `json:"mode"`
	Unit    string   `json:"tu"`
	Command string   `json:"cmd"`
	PID     int      `json:"pid"`
	End     int64    `json:"te"`
	Peak    int64    `json:"tg"`
	Points  []point  `json:"pps"`
	Frames  []string `json:"ftbl"`
}

type point struct {
	Bytes      uint64   `json:"tb"`
	Blocks     uint64   `json:"tbk"`
	Most       uint64   `json:"mb"`
	Peak       uint64   `json:"gb"`
	PeakBlocks uint64   `json:"gbk"`
	End        uint64   `json:"eb"`
	EndBlocks  uint64   `json:"ebk"`
	Frames     []uint32 `json:"fs"`
}

// Read reads a data file.
func Read(in io.Reader) (*merge.Told, error) {
	var f file
	if err := whole.JSON(in, &f); err != nil {
		return nil, err
	}
	switch {
	case f.Version == nil || *f.Version != 2:
		return nil, fmt.Errorf("dhatFileVersion: version 2 is expected")
	case f.Mode != "heap":
		return nil, fmt.Errorf("mode: %.40q tells of no allocations; heap is expected", f.Mode)
	case len(f.Frames) == 0:
		return nil, fmt.Errorf("ftbl: the names of the frames are missing")
	}
	t := merge.NewTold("dhat")
	t.Process.Args, t.Process.PID = strings.Fields(f.Command), f.PID
	if len(t.Process.Args) > 0 {
		t.Process.Exe = t.Process.Args[0]
	}
	if f.Unit == "ns" {
		t.Input.End, t.Input.PeakTime = max(f.End, 0), max(f.Peak, 0)
	}
	pcs := make([]int32, len(f.Frames))
	known := make([]bool, len(f.Frames))
	for i, name := range f.Frames[1:] {
		pcs[i+1], known[i+1] = valgrind.PC(t, name)
	}
	for i := range f.Points {
		p := &f.Points[i]
		if len(p.Frames) > 1 && int64(p.Frames[0]) < int64(len(pcs)) && strings.Contains(f.Frames[p.Frames[0]], allocator) {
			p.Frames = p.Frames[1:] // heaptap's call stacks begin with the caller of the allocator
		}
		at := int32(0)
		for k := len(p.Frames) - 1; k >= 0; k-- {
			n := p.Frames[k]
			if int64(n) >= int64(len(pcs)) {
				return nil, fmt.Errorf("pps[%d].fs[%d]: frame %d of %d", i, k, n, len(pcs))
			}
			if known[n] {
				at = t.Node(at, pcs[n])
			}
		}
		n := merge.Numbers{Allocations: p.Blocks, Bytes: p.Bytes, Live: p.End, LiveBlocks: p.EndBlocks, Peak: p.Peak, PeakBlocks: p.PeakBlocks,
			PeakTold: true, OwnPeak: p.Most}
		if err := t.Add(at, n.Stack()); err != nil {
			return nil, fmt.Errorf("pps[%d]: %w", i, err)
		}
	}
	return t, nil
}

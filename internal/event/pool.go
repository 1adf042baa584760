package event

import (
	"cmp"
	"strings"
)

// Pool sums up the pools of one name, as the program reported them. Bytes are requested bytes. With sampling,
// everything but the backing is an estimate.
type Pool struct {
	Name        string
	Backing     uint64 // bytes of memory under them at the end
	PeakBacking uint64
	Live        uint64 // bytes in them at the end
	PeakLive    uint64 // the most bytes in them at once
	Blocks      uint64 // in them at the end
	Allocations uint64
	Frees       uint64 // blocks that ended, by a free, a clear or otherwise
	Bytes       uint64 // of all allocations
}

// Add adds the sums of the pools of the same name in another process.
func (p *Pool) Add(o *Pool) {
	p.Backing += o.Backing
	p.PeakBacking += o.PeakBacking
	p.Live += o.Live
	p.PeakLive += o.PeakLive
	p.Blocks += o.Blocks
	p.Allocations += o.Allocations
	p.Frees += o.Frees
	p.Bytes += o.Bytes
}

// ComparePools orders pools by what they held at most, the largest first.
func ComparePools(a, b Pool) int {
	return cmp.Or(cmp.Compare(b.PeakLive, a.PeakLive), cmp.Compare(a.Name, b.Name))
}

const (
	poolPrefix, poolSuffix = "[pool ", "]"

	poolAddr = 0x7001 << 48 // no processor has code there
	poolMask = 1<<32 - 1
)

// PoolPC is the leaf of the call stacks of blocks in pools. Number identifies the pools' name within a recording.
func PoolPC(number uint32) PC { return PC{Addr: poolAddr | uint64(number)} }

// Pool returns the number of the pools' name that a PC stands for; false for other PCs.
func (p PC) Pool() (number uint32, ok bool) {
	return uint32(p.Addr), p.Module == 0 && !p.Interrupted && p.Addr&^poolMask == poolAddr
}

// PoolFrame is the frame shown for a PoolPC.
func PoolFrame(name string) Frame { return Frame{Function: poolPrefix + name + poolSuffix} }

// Pool returns the pools' name if the frame is a PoolFrame.
func (f *Frame) Pool() (name string, ok bool) {
	name, begins := strings.CutPrefix(f.Function, poolPrefix)
	name, ends := strings.CutSuffix(name, poolSuffix)
	return name, begins && ends
}

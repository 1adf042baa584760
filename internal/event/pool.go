package event

import (
	"cmp"
	"strings"
)

// Pool is what the pools of one name came to, as the program has told. Bytes are requested ones; of samples, all but the backing are
// estimates, as everywhere.
type Pool struct {
	Name        string
	Backing     uint64 // bytes that serve them at the end
	PeakBacking uint64
	Live        uint64 // bytes in them at the end
	PeakLive    uint64 // the most bytes in them at once
	Blocks      uint64 // in them at the end
	Allocations uint64
	Frees       uint64 // blocks that ended, however they did
	Bytes       uint64 // of all allocations
}

// Add adds what the pools of that name came to in another process.
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

// ComparePools orders pools as people read them: the ones that held most first.
func ComparePools(a, b Pool) int {
	return cmp.Or(cmp.Compare(b.PeakLive, a.PeakLive), cmp.Compare(a.Name, b.Name))
}

const (
	poolPrefix, poolSuffix = "[pool ", "]"

	poolAddr = 0x7001 << 48 // no processor has code there
	poolMask = 1<<32 - 1
)

// PoolPC is the leaf of the call stacks of what lies in the pools of a name, which has a number in its recording.
func PoolPC(number uint32) PC { return PC{Addr: poolAddr | uint64(number)} }

// Pool returns the number of the name of the pools that a PC stands for; false if it stands for none.
func (p PC) Pool() (number uint32, ok bool) {
	return uint32(p.Addr), p.Module == 0 && !p.Interrupted && p.Addr&^poolMask == poolAddr
}

// PoolFrame is what such a PC is called.
func PoolFrame(name string) Frame { return Frame{Function: poolPrefix + name + poolSuffix} }

// Pool returns the name of the pools that a frame is of; false if it is of none.
func (f *Frame) Pool() (name string, ok bool) {
	name, begins := strings.CutPrefix(f.Function, poolPrefix)
	name, ends := strings.CutSuffix(name, poolSuffix)
	return name, begins && ends
}

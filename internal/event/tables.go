package event

// Thread is one thread of the recorded process.
type Thread struct {
	TID   uint32 // the kernel's thread id; ids can be reused, indexes are not
	Name  string // its name when it was first seen
	Start int64  // time of its first event, ns since the recording's start
}

// Module is one loading of one file into the process.
type Module struct {
	ID      uint32 // from 1; 0 stands for code outside of any file (JIT)
	Path    string // as the loader knew it; absolute where possible; "[vdso]" for the kernel's
	BuildID []byte // the GNU build id, or nil
	Start   uint64 // lowest and highest mapped address
	End     uint64
	Bias    uint64 // run-time address minus address in the file
	Loaded  int64  // ns since the recording's start, 0 if before
	Unload  int64  // -1: still loaded at the end
}

// PC is one address on a call stack. The same address is another PC once another module lies there.
type PC struct {
	Addr        uint64
	Module      uint32 // Module.ID, or 0
	Interrupted bool   // the frame was interrupted by a signal: the instruction is at Addr; else the call is at Addr-1
}

// Frame is one level of a PC: the function that the address lies in, or one that was inlined there.
type Frame struct {
	Function string // demangled; "" if unknown
	Linkage  string // the name in the symbol table, if it differs
	File     string // source file as the debug information names it; "" if unknown
	Line     uint32 // 0: unknown
	Inlined  bool   // this function was inlined into the next frame of the PC
}

// Node is a node of the calling-context tree. Its index in the tree is the stack id; 0 is no stack.
type Node struct {
	Parent    uint32 // 0: a root
	PC        uint32 // index of the PC
	Truncated bool   // a root above which the unwinder could not go
}

// Sample is a reading of the process's memory as the kernel counts it, in bytes; -1: not read.
type Sample struct {
	Time         int64 // ns since the recording's start
	RSS          int64
	Virtual      int64
	Swap         int64
	PSS          int64
	MinorFaults  int64 // counts since the process started
	MajorFaults  int64
	SystemFree   int64 // MemAvailable
	SystemCached int64
	Threads      int64 // that were alive; 0: not known
}

// Process describes the recorded process.
type Process struct {
	PID      int
	Parent   int // pid of the process it was forked from without exec, or 0
	Exe      string
	Args     []string
	Dir      string
	Host     string
	Env      []string // NAME=VALUE, only of names that matter to an allocator
	Arch     string   // "amd64" or "arm64"
	Started  int64    // wall clock, ns since 1970
	Agent    uint32   // wire version of the agent
	Recorder string   // version of heaptap that wrote the recording
	Sampling Sampling `json:",omitzero"` // how its samples were chosen; zero: there are none
}

// Health counts what was not recorded, or not fully. All zero is the normal case.
type Health struct {
	LostEvents      uint64
	TruncatedStacks uint64
	BadCFI          uint64
	GuessedFrames   uint64
	TableFull       uint64
	NoThread        uint64
	SpilledChunks   uint64 // appended by the agent itself; nothing lost by it
	Waits           uint64 // times a thread waited for the recorder
	FullSteps       uint64 // stacks unwound with all registers; nothing lost by it
	BootAllocations uint64
	LateEvents      uint64
	// What the agent took of a thread's time for an allocation and a deallocation, on average over those that it timed, ns;
	// 0: none were timed.
	AllocCost, FreeCost float64  `json:",omitempty"`
	Notes               []string // what else a reader of the recording should know, in sentences
}

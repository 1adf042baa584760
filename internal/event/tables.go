package event

// Thread is one thread of the recorded process.
type Thread struct {
	TID   uint32 // the kernel's thread id, which can be reused; indexes are not
	Name  string // its name when it was first seen
	Start int64  // time of its first event, ns since the recording's start
	End   int64  // when it began to end, at least Start; NotEnded; 0: not known, as in older recordings
}

// Ended returns when the thread ended, if that is known.
func (t *Thread) Ended() *int64 {
	if t.End <= 0 {
		return nil
	}
	return &t.End
}

// NotEnded is the Thread.End of a thread that was not seen to end before the recording ended.
const NotEnded = -1

// Module is one loading of one file into the process.
type Module struct {
	ID      uint32 // from 1; 0 stands for code outside of any file (JIT)
	Path    string // as the loader knew it, absolute where possible; "[vdso]" for the kernel's module
	BuildID []byte // the GNU build id, or nil
	Start   uint64 // lowest and highest mapped address
	End     uint64
	Bias    uint64 // run-time address minus address in the file
	Loaded  int64  // ns since the recording's start, 0 if before
	Unload  int64  // -1: still loaded at the end
}

// PC is one address on a call stack. Once another module is loaded at an address, it becomes a different PC.
type PC struct {
	Addr        uint64
	Module      uint32 // Module.ID, or 0
	Interrupted bool   // a signal interrupted the frame at the instruction at Addr; else the call is at Addr-1
}

// Frame is one level of a PC: the function that contains the address, or one that was inlined there.
type Frame struct {
	Function string // demangled; "" if unknown
	Linkage  string // the name in the symbol table, if it differs
	File     string // source file as the debug information names it; "" if unknown
	Line     uint32 // 0: unknown
	Inlined  bool   // inlined into the next frame of the PC
}

// Node is a node of the calling-context tree. Its index in the tree is the stack id; 0 is no stack.
type Node struct {
	Parent    uint32 // 0: a root
	PC        uint32 // index of the PC
	Truncated bool   // a root beyond which the unwinder found no caller
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
	Threads      int64 // threads that were alive; 0: not known
}

// Process describes the recorded process.
type Process struct {
	PID      int
	Parent   int // pid of the process it was forked from without exec, or 0
	Exe      string
	Args     []string
	Dir      string
	Host     string
	Env      []string // NAME=VALUE; only variables that matter to allocators
	Arch     string   // "amd64" or "arm64"
	Started  int64    // wall clock, ns since 1970
	Agent    uint32   // wire version of the agent
	Recorder string   // version of heaptap that wrote the recording
	Sampling Sampling `json:",omitzero"` // how allocations were sampled; zero: they were not
}

// Health counts what was not recorded, or not completely. All fields are normally zero.
type Health struct {
	LostEvents      uint64
	TruncatedStacks uint64
	BadCFI          uint64
	GuessedFrames   uint64
	TableFull       uint64
	NoThread        uint64
	SpilledChunks   uint64 // chunks that the agent itself wrote to the spill file; nothing is lost
	Waits           uint64 // times a thread waited for the recorder
	FullSteps       uint64 // stacks that needed all registers to unwind; nothing is lost
	BootAllocations uint64
	LateEvents      uint64
	StaticPrograms  uint64 `json:",omitempty"` // statically linked programs it executed: they ran unrecorded
	// AllocCost and FreeCost are the agent's mean cost of an allocation and of a deallocation, in ns of a thread's
	// time, over those that it timed; 0: none were timed.
	AllocCost, FreeCost float64  `json:",omitempty"`
	Notes               []string // anything else that a reader should know, as sentences
}

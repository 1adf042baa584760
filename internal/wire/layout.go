package wire

// Chunk is struct ht_chunk, the header of a chunk.
type Chunk struct {
	Magic  uint32
	Stream uint32
	UID    uint64
	Seq    uint64
	Fill   uint32
	Next   uint32
	TID    uint32
	Proc   uint32
	Level  uint32
	There  uint32
	Start  uint64
	Seal   uint64
}

// Stream is struct ht_stream.
type Stream struct {
	Pos        uint64
	Busy       uint64
	Lost       uint64
	StackLow   uint64
	StackHigh  uint64
	Sum        uint64
	End        uint64
	Reserved0  uint64
	UID        uint64
	Start      uint64
	State      uint32
	Proc       uint32
	TID        uint32
	Level      uint32
	FirstChunk uint32
	Chunk      uint32
	NextFree   uint32
	Counts     uint32
	Name       [16]byte
}

// Proc is struct ht_proc.
type Proc struct {
	State     uint32
	PID       uint32
	Parent    uint32
	Partial   uint32
	ForkTime  uint64
	Random    uint64
	Mode      uint32
	ParentPid uint32
	Sum       uint64
	Ended     uint64
	Resident  uint64
}

// CountsRow is struct ht_counts_row.
type CountsRow struct {
	Calls  uint64
	Failed uint64
	Bytes  uint64
	Usable uint64
	Ticks  uint64
	Timed  uint64
	Sizes  [SizeClasses]uint32
	Times  [TimeClasses]uint32
}

// Counts is struct ht_counts.
type Counts struct {
	UID  uint64
	Proc uint32
	TID  uint32
	Name [16]byte
	Rows [64]CountsRow

	Reserved [1148]uint64
}

// Name is struct ht_name, the fixed part of an entry of the log of names.
type Name struct {
	Length uint32
	ID     uint32
	Size   uint32
	Next   uint32

	Sum      uint32
	Reserved uint32
}

// PC is struct ht_pc.
type PC struct {
	PC     uint64
	Module uint32
	Sum    uint32
}

// Node is struct ht_node.
type Node struct {
	Hash   uint64
	Parent uint32
	PC     uint32
}

// Module is struct ht_module, the fixed part of an entry of the module log.
type Module struct {
	Length      uint32
	Kind        uint32
	ID          uint32
	Proc        uint32
	Time        uint64
	Start       uint64
	End         uint64
	Bias        uint64
	BuildIDSize uint32
	PathSize    uint32
	Sum         uint64
}

// Meta is struct ht_meta.
type Meta struct {
	ExeSize     uint32
	CmdlineSize uint32
	CwdSize     uint32
	HostSize    uint32
	EnvSize     uint32
	Sum         uint32
}

// Header is struct ht_header.
type Header struct {
	Magic      uint64
	Version    uint32
	Arch       uint32
	PID        uint32
	PageSize   uint32
	Tsc0       uint64
	Mono0      uint64
	Real0      uint64
	Tsc1       uint64
	Mono1      uint64
	SpillLimit uint64
	Sample     uint64
	StackMin   uint64
	Reserved0  [3]uint64

	FileEnd        uint64
	SpillSize      uint64
	NextUID        uint64
	NextProc       uint32
	NextStream     uint32
	NextChunk      uint32
	NextModule     uint32
	NextPC         uint32
	NextNode       uint32
	ModuleBytes    uint64
	ChunkWaiters   uint32
	Barrier        uint32
	NextCounts     uint32
	NextName       uint32
	NameBytes      uint64
	Awaited        [2]uint64
	NextPool       uint64
	Hidden         uint64
	StaticPrograms uint64
	Reserved1      uint64

	FreeChunks     uint64
	FreeStreams    uint64
	FreeChunkCount uint32
	ChunkFreed     uint32
	RecorderWake   uint32
	Control        uint32
	Reserved3      [4]uint64

	RecorderState  uint32
	RecorderPID    uint32
	Heartbeat      uint64
	RecorderSleeps uint32
	Reserved4      uint32
	Reserved5      [5]uint64

	Counters     [Counters]uint64
	SegmentFirst [SegTypes]uint64
	Segments     [SegTypes][Segments]uint64
	Places       [SegTypes]uint64
	Sum          uint64
}

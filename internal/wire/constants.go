package wire

// Versions, magic numbers and sentinels.
const (
	Version    = 5
	SpoolMagic = 0x314c4f4f50535448 // "HTSPOOL1"
	ChunkMagic = 0x4b484354         // "TCHK"
	None       = 0xffffffff         // no index
)

// Layout of a record's word 0, and sizes that say "look elsewhere".
const (
	AddrBits   = 48
	AddrMask   = 0xffffffffffff
	KindShift  = 48
	SlackShift = 56
	SlackExtra = 255
	SizeExtra  = 0xffffffff
	ClassShift = 6
	ClassStack = 0
	ClassShort = 1
	ClassExtra = 2
	ClassNote  = 3
	RecordMax  = 128
)

// Kinds of class stack: allocations and mapping changes.
const (
	KMalloc                 = 1
	KCalloc                 = 2
	KRealloc                = 3
	KReallocarray           = 4
	KPosixMemalign          = 5
	KAlignedAlloc           = 6
	KMemalign               = 7
	KValloc                 = 8
	KPvalloc                = 9
	KNew                    = 10
	KNewArray               = 11
	KNewNothrow             = 12
	KNewArrayNothrow        = 13
	KNewAligned             = 14
	KNewArrayAligned        = 15
	KNewAlignedNothrow      = 16
	KNewArrayAlignedNothrow = 17
	KPoolAlloc              = 18
	KPoolMove               = 19
	KMmap                   = 24
	KMunmap                 = 25
	KMremap                 = 26
	KBrk                    = 27
	KStack                  = 28
	KStacked                = 32 // added to (a short kind & 31): a deallocation with its own stack
)

// Kinds of class short: deallocations.
const (
	KFree                      = 64 + 1
	KReallocBegin              = 64 + 2
	KCfree                     = 64 + 3
	KFreeSized                 = 64 + 4
	KFreeAlignedSized          = 64 + 5
	KDelete                    = 64 + 6
	KDeleteArray               = 64 + 7
	KDeleteSized               = 64 + 8
	KDeleteArraySized          = 64 + 9
	KDeleteNothrow             = 64 + 10
	KDeleteArrayNothrow        = 64 + 11
	KDeleteAligned             = 64 + 12
	KDeleteArrayAligned        = 64 + 13
	KDeleteSizedAligned        = 64 + 14
	KDeleteArraySizedAligned   = 64 + 15
	KDeleteAlignedNothrow      = 64 + 16
	KDeleteArrayAlignedNothrow = 64 + 17
	KPoolFree                  = 64 + 18
	KPoolMoveBegin             = 64 + 19
	KPoolBacking               = 64 + 20
	KPoolClear                 = 64 + 21
	KPoolDestroy               = 64 + 22
)

// Kinds of class extra: values that belong to the next record.
const (
	XSize    = 128 + 1
	XUsable  = 128 + 2
	XAlign   = 128 + 3
	XCount   = 128 + 4
	XOld     = 128 + 5
	XOldSize = 128 + 6
	XSampled = 128 + 7
	XID      = 128 + 8
	XPool    = 128 + 9

	SampledCalls = uint64(1) << 63
)

// Kinds of class note: marks, regions, names and other notes that are not allocations.
const (
	KMark        = 192 + 1
	KRegionBegin = 192 + 2
	KRegionEnd   = 192 + 3
	KThreadName  = 192 + 4
	KRangeName   = 192 + 5
)

// Modes, and classes of count mode.
const (
	ModeExact   = 1
	ModeSampled = 2
	ModeCount   = 3
	ModeOff     = 4
	ModeMask    = 255

	SizeClasses = 48
	TimeClasses = 32
)

// Chunks and streams.
const (
	ChunkSize       = 65536
	ChunkHeaderSize = 64

	SealFill = 0x1ffff

	BusyControl = 1

	StreamFree  = 0
	StreamLive  = 0x4556494c
	StreamEnded = 0x454e4f44
	Ended       = 1 << 32 // of a process

	PosShift = 24
	PosMask  = 1<<PosShift - 1

	ProcFree = 0
	ProcLive = 0x434f5250
)

// Tables.
const (
	PCInterrupted = 1 << 63
	PCSmall       = 1
	PCPool        = 1 << 62
	NodeTruncated = 0x80000000
	ModuleLoad    = 1
	ModuleUnload  = 2
	ModuleApart   = 3

	ApartMalloc    = 1
	ApartDeepbind  = 2
	ApartNamespace = 3
)

// Segment types.
const (
	SegNone = iota
	SegMeta
	SegProcs
	SegStreams
	SegChunks
	SegPCs
	SegNodes
	SegModules
	SegCounts
	SegNames
	SegTypes
)

// Counters of the header.
const (
	CLost = iota
	CTruncated
	CBadCFI
	CGuessed
	CTableFull
	CNoThread
	CSpilled
	CWaits
	CFullSteps
	CBoot
	CAllocTicks
	CAllocTimed
	CFreeTicks
	CFreeTimed
	CForbidden
	CStopped
	Counters = 16
)

// Recorder states, sizes of the header.
const (
	RecorderNone     = 0
	RecorderExpected = 1
	RecorderHere     = 2

	Segments   = 28 // of one type
	HeaderSize = 4096
	ListEmpty  = uint64(None)
)

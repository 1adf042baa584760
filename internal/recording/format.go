package recording

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/heaptap/heaptap/internal/recording/block"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// The version of the format that this package writes. A reader opens every older version and every newer minor one.
const (
	VersionMajor = 1
	VersionMinor = 0
)

// Quantum is the resolution of times in a recording, in nanoseconds.
const Quantum = block.Quantum

// Quantise rounds a time down to the resolution of a recording. A Writer does so with Time and Born of every event, so
// the result is what a Reader returns.
func Quantise(ns int64) int64 {
	if ns < 0 {
		return 0
	}
	return ns - ns%Quantum
}

// BlockEvents is the largest number of events in a block.
const BlockEvents = block.MaxEvents

const (
	fileMagic        = "\x89HTAP\r\n\x1a"
	fileHeaderLength = 32
	blockMagic       = 0x4b4c4248 // "HBLK"
	headerLength     = 24
	endMagic         = "HTAPEND\n"
	trailerSize      = 16

	maxPayload = 64 << 20 // of a block, as stored

	// All tables of a file together unpack to no more than tableRoom and tableRatio times the file's length.
	tableRoom  = 4 << 20
	tableRatio = 64
)

// tableRows is the largest number of rows that the writer puts into a block of a table.
const tableRows = 1 << 16

// Columns of blocks that have one.
const (
	colTally column.ID = 2 // package tally's form of a summary
	colJSON  column.ID = 2
)

// blockType says what a block holds.
type blockType uint16

const (
	blockProcess blockType = 1
	blockThreads blockType = 2
	blockModules blockType = 3
	blockPCs     blockType = 4
	blockNodes   blockType = 5
	blockEvents  blockType = 6
	blockSamples blockType = 7
	blockSymbols blockType = 8
	blockTally   blockType = 9
	blockEnding  blockType = 10
	blockIndex   blockType = 11
	blockSummary blockType = 12 // what a run of events blocks changes, stack by stack
	blockFolded  blockType = 13 // which blocks before it are folded

	blockVariables    blockType = 14 // static variables
	blockDataSections blockType = 15 // sections with static data
	blockResidency    blockType = 16 // which pages of the modules were in memory

	// Of a merged recording only.
	blockInputs   blockType = 17 // the recordings that were merged
	blockTimeline blockType = 18 // what all of them had live, over time
	blockSpreads  blockType = 19 // how a call stack differs between them

	blockMarks    blockType = 20 // named moments
	blockCounts   blockType = 21 // what threads have counted
	blockStackUse blockType = 22 // memory of the threads' stacks
	blockPairs    blockType = 23 // allocations and deallocations that do not match
	blockRegions  blockType = 24 // named spans of what threads do
	blockPools    blockType = 25 // totals of the program's own pools
	blockRanges   blockType = 26 // named ranges of memory
	blockResident blockType = 27 // what the resident set consists of

	blockFar blockType = 28 // deallocations by block of events of the allocation

	blockPages blockType = 29 // which pages of the process's memory were in memory

	lastBlock = blockPages // that this heaptap knows
)

func (t blockType) String() string {
	switch t {
	case blockProcess:
		return "process"
	case blockThreads:
		return "threads"
	case blockModules:
		return "modules"
	case blockPCs:
		return "addresses"
	case blockNodes:
		return "call stacks"
	case blockEvents:
		return "events"
	case blockSamples:
		return "samples"
	case blockSymbols:
		return "symbols"
	case blockTally:
		return "statistics"
	case blockEnding:
		return "ending"
	case blockIndex:
		return "index"
	case blockSummary:
		return "summary"
	case blockFolded:
		return "folded"
	case blockVariables:
		return "variables"
	case blockDataSections:
		return "data sections"
	case blockResidency:
		return "resident pages"
	case blockInputs:
		return "inputs"
	case blockTimeline:
		return "timeline"
	case blockSpreads:
		return "spreads"
	case blockMarks:
		return "marks"
	case blockCounts:
		return "counts"
	case blockStackUse:
		return "stack memory"
	case blockPairs:
		return "mismatches"
	case blockRegions:
		return "regions"
	case blockPools:
		return "pools"
	case blockRanges:
		return "ranges"
	case blockResident:
		return "resident set"
	case blockFar:
		return "far sums"
	case blockPages:
		return "page readings"
	}
	return fmt.Sprintf("type %d", uint16(t))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// flagMerged says that the file has sums instead of events.
const flagMerged = 1

// fileHeader is the first 32 bytes of a recording.
type fileHeader struct {
	major, minor uint16
	flags        uint32 // a reader refuses flags that it does not know
	quantum      uint32 // nanoseconds per unit of time
}

func (h fileHeader) encode() []byte {
	b := make([]byte, fileHeaderLength)
	copy(b, fileMagic)
	binary.LittleEndian.PutUint16(b[8:], h.major)
	binary.LittleEndian.PutUint16(b[10:], h.minor)
	binary.LittleEndian.PutUint32(b[12:], h.flags)
	binary.LittleEndian.PutUint32(b[16:], h.quantum)
	binary.LittleEndian.PutUint32(b[28:], checksum(b[:28]))
	return b
}

func decodeFileHeader(name string, b []byte) (fileHeader, error) {
	var h fileHeader
	n := min(len(b), len(fileMagic))
	if n == 0 {
		return h, fmt.Errorf("%s: the file is empty: nothing was recorded, or the disk was full", name)
	}
	if string(b[:n]) != fileMagic[:n] {
		return h, fmt.Errorf("%s: not a heaptap recording (it does not begin with the mark of a .htap file); "+
			"record one with: heaptap run -- COMMAND", name)
	}
	if len(b) < fileHeaderLength {
		return h, fmt.Errorf("%s: the file ends within its header (%d of %d bytes): nothing was recorded", name, len(b),
			fileHeaderLength)
	}
	h.major = binary.LittleEndian.Uint16(b[8:])
	h.minor = binary.LittleEndian.Uint16(b[10:])
	h.flags = binary.LittleEndian.Uint32(b[12:])
	h.quantum = binary.LittleEndian.Uint32(b[16:])
	if checksum(b[:28]) != binary.LittleEndian.Uint32(b[28:]) {
		return h, fmt.Errorf("%s: the header is damaged (checksum); copy the file again from where it was recorded",
			name)
	}
	if h.major > VersionMajor {
		return h, fmt.Errorf("%s: format version %d is newer than this heaptap (%d); update heaptap", name, h.major,
			VersionMajor)
	}
	if h.major == 0 || h.quantum == 0 || h.quantum > 1_000_000_000 {
		return h, fmt.Errorf("%s: the header is invalid (version %d, unit of time %d ns)", name, h.major, h.quantum)
	}
	if h.flags&^flagMerged != 0 {
		return h, fmt.Errorf("%s: uses features that this heaptap does not know (flags %#x); update heaptap", name,
			h.flags)
	}
	return h, nil
}

// header is a block's header and where it is.
type header struct {
	typ      blockType
	seq      uint32 // number of the block in the file, from 0
	length   uint32 // of the payload
	checksum uint32 // of the payload
	offset   int64  // of the header
}

func (b header) end() int64 { return b.offset + headerLength + int64(b.length) }

func (b header) encode(dst []byte) []byte {
	n := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, blockMagic)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(b.typ))
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, b.length)
	dst = binary.LittleEndian.AppendUint32(dst, b.seq)
	dst = binary.LittleEndian.AppendUint32(dst, b.checksum)
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[n:]))
}

// decodeBlock reports whether p begins with a whole, valid block header.
func decodeBlock(p []byte, offset int64) (header, bool) {
	if len(p) < headerLength || binary.LittleEndian.Uint32(p) != blockMagic ||
		checksum(p[:headerLength-4]) != binary.LittleEndian.Uint32(p[headerLength-4:]) {
		return header{}, false
	}
	b := header{
		typ:      blockType(binary.LittleEndian.Uint16(p[4:])),
		length:   binary.LittleEndian.Uint32(p[8:]),
		seq:      binary.LittleEndian.Uint32(p[12:]),
		checksum: binary.LittleEndian.Uint32(p[16:]),
		offset:   offset,
	}
	return b, b.length <= maxPayload
}

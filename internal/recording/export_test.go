package recording

import "slices"

// What the tests need to make damaged and forged files.

type BlockType = blockType

const (
	BlockProcess      = blockProcess
	BlockNodes        = blockNodes
	EventsBlock       = blockEvents
	BlockSummary      = blockSummary
	BlockVariables    = blockVariables
	BlockDataSections = blockDataSections
	BlockResidency    = blockResidency

	FileHeaderLength = fileHeaderLength
	HeaderLength     = headerLength
)

var Checksum = checksum

// FileHeader is the header of a file of that version, with flags.
func FileHeader(major uint16, flags uint32) []byte {
	return fileHeader{major: major, quantum: Quantum, flags: flags}.encode()
}

// AppendBlockHeader appends the header of a block with that payload to a file.
func AppendBlockHeader(file []byte, typ BlockType, number uint32, payload []byte) []byte {
	return header{typ: typ, seq: number, length: uint32(len(payload)), checksum: checksum(payload)}.encode(file)
}

// AppendBlock writes a block of a type that the format need not have.
func (w *Writer) AppendBlock(typ BlockType, payload []byte) error { return w.app.block(typ, payload) }

// What the tests of writing need.

const (
	MaxJobs      = maxJobs
	TableRows    = tableRows
	VariableRows = variableRows
)

var NewWriter = newWriter

// Wait returns when the blocks that were begun are in the file.
func (w *Writer) Wait() { w.wait() }

// ToTheByte folds as if the file system gave back every byte.
func (f Fold) ToTheByte() Fold {
	f.grain = 1
	return f
}

// What the tests of reading need.

// Grows sets how Refresh learns the file's length.
func (r *Reader) Grows(length func() (int64, error)) { r.measure = length }

// WithoutEventBlock leaves a block of events out, as if it were damaged.
func (r *Reader) WithoutEventBlock(i int) { r.events.list = slices.Delete(r.events.list, i, i+1) }

// TrustPayload sets the checksum of block i of events to that of p, as if p had been written.
func (r *Reader) TrustPayload(i int, p []byte) { r.events.list[i].checksum = checksum(p) }

var (
	DataSectionTable = &dataSectionTable
	VariableTable    = &variableTable
	ResidencyTable   = &residencyTable
	MarkTable        = &markTable
	PoolTable        = &poolTable
	RangeTable       = &rangeTable
	RegionTable      = &regionTable
	PageTable        = &pageTable
	EncodeCounts     = encodeCounts
	DecodeCounts     = decodeCounts
)

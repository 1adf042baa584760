package recording

import "github.com/heaptap/heaptap/internal/recording/block"

// Types of package block that are part of what a Reader returns.
type (
	Batch   = block.Batch
	Fields  = block.Fields
	Change  = block.Change
	Changes = block.Changes
)

// Fields that events may lack, see block.Fields.
const (
	Times     = block.Times
	Sizes     = block.Sizes
	Usable    = block.Usable
	Counts    = block.Counts
	Addresses = block.Addresses
	AllFields = block.AllFields
)

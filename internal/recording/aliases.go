package recording

import "github.com/heaptap/heaptap/internal/recording/block"

// What package block says of events and of what they change is part of what a Reader answers.
type (
	Batch   = block.Batch
	Fields  = block.Fields
	Change  = block.Change
	Changes = block.Changes
)

// What events may go without, see block.Fields.
const (
	Times     = block.Times
	Sizes     = block.Sizes
	Usable    = block.Usable
	Counts    = block.Counts
	Addresses = block.Addresses
	AllFields = block.AllFields
)

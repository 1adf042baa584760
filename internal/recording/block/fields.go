package block

import "github.com/heaptap/heaptap/internal/recording/column"

// Fields are fields of events that a Decoder decodes on request. It always decodes Kind, Func, Flags, Thread, Stack,
// FreeStack, Ref, BornBy, and the fields that few events have. A field that was not requested may have any value, and
// its column is neither unpacked nor read, which saves up to half of the work.
type Fields uint8

// Fields that can be requested.
const (
	Times     Fields = 1 << iota // Time and Born
	Sizes                        // Size and Weight
	Usable                       //
	Counts                       // Count
	Addresses                    // Addr, of recordings that have it
	AllFields Fields = 1<<iota - 1
)

// fieldColumns are the columns that hold only one of these fields.
var fieldColumns = [256]Fields{
	colBorn:      Times,
	colSize:      Sizes,
	colFarSize:   Sizes,
	colSlack:     Usable,
	colWideSlack: Usable,
	colFarSlack:  Usable,
	colCount:     Counts,
	colAddr:      Addresses,
	colFarAddr:   Addresses,
}

// need reports whether a column is to be read.
func (f Fields) need(id column.ID) bool { return f&fieldColumns[id] == fieldColumns[id] }

// needed returns the fields of a block that have to be read if some are wanted: these, and those from which they are
// predicted or computed.
func (h *Head) needed(f Fields, sampled bool) Fields {
	if h.flags&headAddresses == 0 {
		f &^= Addresses
	}
	if f&Addresses != 0 {
		f |= Usable // its slack decides the classes of blocks
	}
	if f&(Usable|Counts) != 0 || sampled {
		f |= Sizes
	}
	return f
}

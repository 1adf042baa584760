package block

import "github.com/heaptap/heaptap/internal/recording/column"

// Fields says which fields of events are wanted. Kind, Func, Flags, Thread, Stack, FreeStack, Ref and BornBy always
// are, and so is what few events have. The others may be anything, and the columns that they are in are neither
// unpacked nor read: they take up to half of the work.
type Fields uint8

// What events may go without.
const (
	Times     Fields = 1 << iota // Time and Born
	Sizes                        // Size and Weight
	Usable                       //
	Counts                       // Count
	Addresses                    // Addr, of recordings that have it
	AllFields Fields = 1<<iota - 1
)

// fieldColumns are the columns that have nothing but one field.
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

// needed returns the fields of a block that have to be read if some are wanted: what others are predicted by, or
// computed from.
func (h *Head) needed(f Fields, sampled bool) Fields {
	if h.flags&headAddresses == 0 {
		f &^= Addresses
	}
	if f&Addresses != 0 {
		f |= Usable // whose slack tells classes
	}
	if f&(Usable|Counts) != 0 || sampled {
		f |= Sizes
	}
	return f
}

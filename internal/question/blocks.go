package question

import (
	"errors"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Blocks reads which blocks are asked for: in which order, and those that hold an address, or one of A..B ("": all); or
// number, the allocation of the one whose biography is asked for (nil: block is ""). Errors are of type *Error.
func Blocks(sort, block, address string) (choice query.BlockChoice, number *uint64, err error) {
	order, known := query.ParseBlockOrder(sort)
	if !known {
		return choice, nil, UnknownWord("sort", sort, query.BlockOrders())
	}
	choice.Order = order
	if block != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(block, "#"), 10, 64)
		if err != nil {
			return choice, nil, wrong("block "+block, errors.New("give the number of an allocation, as 4711"))
		}
		return choice, &n, nil
	}
	if address != "" {
		from, to, isRange := strings.Cut(address, "..")
		first, err := strconv.ParseUint(from, 0, 64)
		if choice.AddrTo = first; err == nil && isRange {
			choice.AddrTo, err = strconv.ParseUint(to, 0, 64)
		}
		switch {
		case err != nil:
			return choice, nil, wrong("address "+address, errors.New("give a number, in hexadecimal after 0x, or two: "+
				"0x7f0000..0x7f0fff"))
		case choice.AddrTo < first:
			return choice, nil, wrong("address "+address, errors.New("the range ends before it begins"))
		}
		choice.Addr = &first
	}
	return choice, nil, nil
}

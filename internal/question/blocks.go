package question

import (
	"errors"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/query"
)

// Blocks reads which blocks are asked for: in which order, and the one that holds an address ("": all); or number, the
// allocation of the one whose biography is asked for (nil: block is ""). Errors are of type *Error.
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
		n, err := strconv.ParseUint(address, 0, 64)
		if err != nil {
			return choice, nil, wrong("address "+address, errors.New("give a number, in hexadecimal after 0x"))
		}
		choice.Addr = &n
	}
	return choice, nil, nil
}

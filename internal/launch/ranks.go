package launch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
)

// CheckRanks says what is wrong with a list of ranks, as 0,4-7.
func CheckRanks(list string) error {
	_, err := ranksHave(list, 0)
	return err
}

func ranksHave(list string, rank uint64) (bool, error) {
	found := false
	for _, part := range strings.Split(list, ",") {
		low, high, two := strings.Cut(part, "-")
		if !two {
			high = low
		}
		a, err := strconv.ParseUint(low, 10, 32)
		b, err2 := strconv.ParseUint(high, 10, 32)
		if err != nil || err2 != nil || a > b {
			return false, fmt.Errorf("%q is not a list of ranks (for example 0,4-7)", list)
		}
		found = found || rank >= a && rank <= b
	}
	return found, nil
}

// rankIsChosen says whether this process, and so what it starts, has a rank that is in the list. Without a rank it is:
// it may be the launcher of the job, whose processes choose for themselves.
func rankIsChosen(list string, env []string) bool {
	if list == "" {
		return true
	}
	rank, ok := event.Rank(env)
	if !ok {
		return true
	}
	chosen, _ := ranksHave(list, rank)
	return chosen
}

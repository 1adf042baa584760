package recording

import (
	"encoding/json"

	"github.com/heaptap/heaptap/internal/tally"
)

func marshalTally(t *tally.Tally) ([]byte, error) { return json.Marshal(t.Summary()) }

func unmarshalTally(b []byte) (*tally.Summary, error) {
	s := new(tally.Summary)
	return s, json.Unmarshal(b, s)
}

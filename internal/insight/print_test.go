package insight

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/query"
)

// TestPrint prints what stands out in the recordings that HEAPTAP_RECORDINGS names, and how long it took to find.
func TestPrint(t *testing.T) {
	for _, path := range strings.Fields(os.Getenv("HEAPTAP_RECORDINGS")) {
		s, err := query.Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		s.Profile.SetCode(owncode.Rules{})
		start := time.Now()
		list, err := Find(t.Context(), s)
		t.Logf("%s: %v, %d findings, %v", path, time.Since(start), len(list), err)
		for _, x := range list {
			t.Logf("  %s %s (%.1f %%): %s%s [%s; %.2f] %s:%d heaptap %s", x.Rule, x.SavesText(false),
				100*x.Share, x.Place.Name, Sentence(x.Says, false), Sentence(x.Basis, false), x.Confidence,
				x.Place.File, x.Place.Line, strings.Join(x.Show.Command(), " "))
		}
		s.Close()
	}
}

package view

import (
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/recording"
)

func TestFoldedBy(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]recording.Folded{
		"--keep 10m":                {Keep: 10 * time.Minute},
		"--keep 24h":                {Keep: 24 * time.Hour},
		"--keep 1h30m":              {Keep: 90 * time.Minute},
		"--keep 1m30s":              {Keep: 90 * time.Second},
		"--keep 500ms":              {Keep: 500 * time.Millisecond},
		"--max-size 2G":             {MaxSize: 2 << 30},
		"--max-size 1536M":          {MaxSize: 3 << 29},
		"--max-size 1000":           {MaxSize: 1000},
		"--keep 10s --max-size 16T": {Keep: 10 * time.Second, MaxSize: 16 << 40},
	} {
		if got := foldedBy(&f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

package question

import (
	"testing"

	"github.com/heaptap/heaptap/internal/query"
)

func TestParseLifetimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]query.Interval{
		"..1ms": {Min: 0, Max: 1e6}, "2s..": {Min: 2e9, Max: query.Unbounded}, "64ns..127ns": {Min: 64, Max: 127},
		"0ns..0ns": {}, "never": {Min: query.Unbounded, Max: query.Unbounded},
	} {
		got, err := ParseLifetimes(text)
		if err != nil || *got != want {
			t.Errorf("%s is %+v, want %+v: %v", text, got, want, err)
		}
	}
	for _, text := range []string{"never..", "..never", "1s..1ms", "x"} {
		if got, err := ParseLifetimes(text); err == nil {
			t.Errorf("%s is %+v", text, got)
		}
	}
	if got, err := ParseLifetimes(""); got != nil || err != nil {
		t.Errorf("nothing is %+v, %v", got, err)
	}
}

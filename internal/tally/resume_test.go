package tally_test

import (
	"reflect"
	"testing"

	"github.com/heaptap/heaptap/internal/tally"
)

// TestResume: a tally that goes on from a summary comes to the same as one that took all events.
func TestResume(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		p := newProgram(seed)
		p.run(120)
		whole := tally.New()
		for i := range p.want {
			whole.Add(&p.want[i])
		}
		for cut := range p.want {
			first := tally.New()
			for i := range p.want[:cut] {
				first.Add(&p.want[i])
			}
			stored, err := tally.Unmarshal(first.Summary().Marshal())
			if err != nil {
				t.Fatal(err)
			}
			rest := tally.Resume(stored)
			for i := range p.want[cut:] {
				rest.Add(&p.want[cut+i])
			}
			if got, want := rest.Summary(), whole.Summary(); !reflect.DeepEqual(got, want) {
				t.Fatalf("program %d, resumed at %d of %d:\n%+v\n%+v", seed, cut, len(p.want), got, want)
			}
		}
	}
}

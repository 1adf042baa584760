// Package e2e records real processes with the heaptap binary and judges the recordings: the small forms of what
// `make test-programs` does, and what no counting can show (every function by its name, ways out of operator new,
// recorders that stand still).
package e2e

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
	"github.com/heaptap/heaptap/tests/programs"
)

func TestMain(m *testing.M) { kit.Main(m) }

var (
	buildOnce sync.Once
	theBuild  *programs.Kit
	buildErr  error
)

// built builds heaptap and the programs once.
func built(t *testing.T) *programs.Kit {
	t.Helper()
	buildOnce.Do(func() { theBuild, buildErr = programs.Build(kit.Dir(t), kit.Binary(t)) })
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return theBuild
}

func deadline(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// record runs a case and fails the test for each check that does not hold.
func record(t *testing.T, k *programs.Kit, c programs.Case) *programs.Result {
	t.Helper()
	r, err := k.Run(deadline(t, 2*time.Minute), t.TempDir(), c)
	if err != nil {
		t.Fatal(err)
	}
	report(t, r)
	return r
}

func report(t *testing.T, r *programs.Result) {
	t.Helper()
	for i, f := range r.Failed() {
		if i == 10 {
			t.Errorf("... and %d more", len(r.Failed())-i)
			break
		}
		t.Errorf("%s: %s, want %s", f.What, f.Got, f.Want)
	}
	if t.Failed() {
		t.Logf("heaptap's stderr:\n%s", r.Stderr)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	k := built(t)
	for _, c := range k.Known(0.02) {
		t.Run(c.Name, func(t *testing.T) { record(t, k, c) })
	}
}

func TestReal(t *testing.T) {
	t.Parallel()
	k := built(t)
	cases, missing := k.Real(0.03)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { record(t, k, c) })
	}
	for _, m := range missing {
		t.Run(m, func(t *testing.T) { need.Lacks(t, m+" is not installed") })
	}
}

// one records a program that is not chained with the counting library and returns its only recording.
func one(t *testing.T, k *programs.Kit, c programs.Case) (*programs.Result, programs.Recording) {
	t.Helper()
	c.Unjudged = true
	r := record(t, k, c)
	if len(r.Recordings) != 1 {
		t.Fatalf("%d recordings, want 1\n%s", len(r.Recordings), r.Stderr)
	}
	return r, r.Recordings[0]
}

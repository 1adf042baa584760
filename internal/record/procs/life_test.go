package procs

import (
	"os"
	"testing"
)

func TestLifeOfOthers(t *testing.T) {
	if random, ok := Random(os.Getpid()); !ok || random == 0 {
		t.Error("no random bytes of our own")
	}
	if !exists(os.Getpid()) || exists(1<<22+1) {
		t.Error("exists is wrong")
	}
}

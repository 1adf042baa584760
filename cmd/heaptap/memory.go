package main

import (
	"os"
	"runtime/debug"
)

// busyMemory is from how much memory on garbage is collected more often, in commands that hold the call stacks of
// two recordings.
const busyMemory = 1600 << 20

// saveMemory has garbage collected more often where a lot of memory is in use, unless the user has set a limit.
func saveMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(busyMemory)
	}
}

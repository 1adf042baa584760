package main

import (
	"os"
	"runtime/debug"
)

// busyMemory is the amount of memory above which garbage is collected more often, in commands that hold the call
// stacks of two recordings.
const busyMemory = 1600 << 20

// saveMemory collects garbage more often when much memory is in use, unless the user has set a limit.
func saveMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(busyMemory)
	}
}

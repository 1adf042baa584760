package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// busyMemory is the amount of memory above which garbage is collected more often, in commands that hold the call
// stacks of two recordings.
const busyMemory = 1600 << 20

// servedMemory is that of the server, which is to stay at 300 MB: 20 are the program itself, and some are in use while
// garbage is collected. What it keeps is bounded by docs/api-http.md.
const servedMemory = 256 << 20

// servedGarbage is how much garbage the server lets come before it collects it, in percent of what is in use. Most of
// what it has in use is numbers, which cost the collector next to nothing.
const servedGarbage = 60

// servedProcessors is how many processors the server uses at most: for each, a block of events that is counted takes
// up to 25 MB.
const servedProcessors = 4

// saveServedMemory is saveMemory for the server.
func saveServedMemory() {
	saveMemory(servedMemory)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servedGarbage)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), servedProcessors))
	}
}

// A process of `heaptap run` that lives for less than hurryTime, as with a short command, collects no garbage, unless
// it has much of it: each collection would take as long as much else that it does.
const (
	hurryTime    = time.Second
	hurryGarbage = 400 // percent of what is in use, which counts as 4 MB at least
)

// hurry collects little garbage at first.
func hurry() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(hurryGarbage)
		time.AfterFunc(hurryTime, func() { debug.SetGCPercent(100) })
	}
}

// saveMemory collects garbage more often when much memory is in use, unless the user has set a limit.
func saveMemory(much int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(much)
	}
}

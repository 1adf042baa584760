package recording

import "github.com/heaptap/heaptap/internal/event"

// ProgramEvents makes n events of a program with threads, reallocs and blocks that threads free for one another.
func ProgramEvents(seed uint64, n int) []event.Event {
	return program{threads: 3, stacks: 9, window: 25, burst: 4, foreign: seed%2 == 0, lifo: .5, realloc: .15, long: .1,
		tick: 100}.run(seed, n)
}

// OddEvents makes n events among which is everything that is rare.
func OddEvents(seed uint64, n int) []event.Event {
	return program{threads: 3, stacks: 6, window: 10, burst: 3, lifo: .5, realloc: .1, tick: 100, odd: true,
		allFrees: true}.run(seed, n)
}

// SomeCounts are counts of several threads.
var SomeCounts = someCounts

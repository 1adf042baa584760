// Package tally sums events up: what each call stack, each thread and the process come to. docs/definitions.md defines
// every number, with examples.
//
// A Tally takes the events of one recording in order, each for a few nanoseconds, and can be asked at any time. It keeps
// totals and, for each stack, its account: counts, what is live now, the most that was ever live of that stack alone,
// and what was live when the process was at its peak.
//
// The last is known without looking back. When the process reaches a new maximum, nothing is copied: only the number of
// that event is kept. A stack whose level has not changed since is at its level of the peak; one whose level is about
// to change for the first time since saves it. So what the stacks had live at the peak always sums to the peak.
//
// A Summary is a finished tally in plain structs. Its binary form, for a recording to keep, is in marshal.go.
package tally

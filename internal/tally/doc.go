// Package tally sums up events by call stack, by thread and for the process. docs/definitions.md defines every number,
// with examples.
//
// A Tally counts the events of one recording in order, in a few nanoseconds each, and can be read at any time. It keeps
// totals and, for each stack, an account: counts, live memory, the stack's own peak, and what was live of it at the
// process's peak.
//
// The last value needs no second pass. When the process reaches a new maximum, the tally only notes the number of that
// event. A stack whose live memory has not changed since then is still at its level at the peak. Before it changes for
// the first time since the peak, the stack saves that level. So the stacks' levels at the peak always sum up to the
// peak.
//
// A Summary is a finished tally in plain structs. marshal.go has its binary form, which recordings contain.
package tally

// Package stacks gives the stacks of a process their numbers in its recording. The spool's nodes and program counters
// have numbers of the agent's; a recording has numbers of its own, without gaps, for those that occur in its events.
// What the agent's tables hold twice (two threads may have added the same stack at the same time) is one here.
//
// The rule: what has a number is in the recording before any event that refers to it, and its parent before it.
package stacks

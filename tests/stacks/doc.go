// Package stacks judges call stacks the whole way, through agent, recorder and recording, by what the target itself
// knows of them.
//
// The witness is the scenarios of agent/test, linked with a check_event (src/witness.c) that asks libgcc's unwinder for
// the stack, writes it to a file, and then allocates a block of a size that no other event has. The recording must have
// that stack for that size. The plugins (src/plugins.c) are loaded and unloaded in turn, mostly at one address, and
// each knows how much it has allocated; the report must say the same.
package stacks

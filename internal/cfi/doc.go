// Package cfi reads call frame information: the rules in .eh_frame that say, for each instruction of a program, where
// the caller's frame begins.
//
// The canonical frame address (CFA) of a frame is the stack pointer just before the call that entered the function,
// plus what the call itself pushes: the first address above the frame. For most instructions of optimized code, the
// rule is "stack pointer + n". Then n is all that the frame takes at that instruction: local variables, saved
// registers, arguments passed on the stack, and the return address. With another rule (frame pointer + n, an
// expression), the information does not say how much that is.
//
// Sections are not trusted. Everything is bounded: reading takes time in proportion to the section and to the addresses
// looked up, and the steps of executed rules are limited. Nothing is kept but the results.
//
// References: DWARF 5 section 6.4; Linux Standard Base 5.0 core, "Exception Frames" and "DWARF Extensions". The agent
// reads the same sections in C (agent/src/unwind/cfi.c), within the program.
package cfi

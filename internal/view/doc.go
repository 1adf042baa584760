// Package view shows answers as text for people. All numbers come from packages query, profile, diff and check, so
// that a number shown in two places is the same. Package answer has the same answers for programs.
//
// Text has the width of the terminal, else 100 columns. Runs of frames of libraries and wrappers are folded to a count
// (profile.Folding); the numbers are of whole call stacks. Sizes are decimal (1 kB is 1000 bytes), as in the
// documentation of allocators; classes of sizes, powers of two, are binary (1 KiB is 1024 bytes).
package view

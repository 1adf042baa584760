// Package view shows answers as text for people. All numbers come from packages query, profile, diff and check, so
// that a number shown in two places is the same. Package answer has the same answers for programs.
//
// Text is for terminals of 100 columns. Sizes are decimal (1 kB is 1000 bytes), as in the documentation of
// allocators.
package view

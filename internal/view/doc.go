// Package view shows answers as text for people. Every number is one that package query, profile, diff or check has
// counted, so that a number shown in two places is the same; package answer has the same for programs.
//
// Text is for terminals of 100 columns. Sizes are decimal (1 kB is 1000 bytes), as in the documentation of
// allocators.
package view

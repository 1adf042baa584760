// Package view shows a profile: as text for people, as JSON for programs. It knows where nothing comes from and asks
// package profile for every number, so that a number shown in two places is the same.
//
// Text is for terminals of 100 columns. Sizes are decimal (1 kB is 1000 bytes), as in the documentation of allocators;
// JSON has plain numbers of bytes and nanoseconds.
package view

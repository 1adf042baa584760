// Package export writes what a recording tells in the forms that other tools read.
//
// A Format is such a form: its name, what it keeps and what it loses, and a function that writes it. An Input is an open recording and
// the question that was asked of it; formats get their numbers from it, by package query, and so they are those of every report. Each
// format is a package of its own below this one; package formats lists them.
//
// A new format is a folder of its own with a variable Format, a line in package formats and one in docs/formats.md; its command line,
// file names, listing and the tests that hold of all formats come from these.
//
// Formats write to a stream, from front to back. They need memory for call stacks, not for events. The same recording and question give
// the same bytes: no clock, no random numbers, no order of maps, and no path or host but what the recording holds.
package export

// Package export writes recordings in the formats of other tools.
//
// A Format has a name, a description of what it keeps and loses, and a function that writes it. An Input is an open
// recording and a question about it. Formats get their numbers from package query, as reports do, so that both agree.
// Each format is a package below this one; package formats lists them.
//
// A new format is a folder with a variable Format, a line in package formats and one in docs/formats.md. Its command
// line, file names, listing and the tests of all formats follow from these.
//
// Formats write to a stream, from front to back. They need memory for call stacks, not for events. The same recording
// and question give the same bytes: output never depends on the clock, on random numbers, on the order of a map, or on
// a path or host that is not in the recording.
package export

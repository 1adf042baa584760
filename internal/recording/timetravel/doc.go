// Package timetravel answers questions about a recording at a moment, or between two: what was live, how much at most,
// what changed at each call stack, and how that developed.
//
// A moment is a cut, as the Reader's Cuts explains. A question between two cuts reads a few summaries and decodes two
// blocks of events at most, however long the recording is, unless its text says that it reads events. Where events were
// folded, there are answers at some cuts only, those of Reader.Around; elsewhere the error is a
// *recording.FoldedError. A merged recording has no answers: the error is a *recording.MergedError.
package timetravel

// Package atlas holds what a recording changed at each call stack, step by step over the whole run, in memory. It
// answers coarse questions at once: what happened between two of its moments, what was live at one, how a set of call
// stacks developed.
//
// An Atlas divides a run into up to MaxSteps steps of equal time. Moments are the ends of the steps, and in each step
// the moment at which the most bytes were live. For each call stack, the atlas has the moments before which something
// happened there, and running sums up to each of these. So what happened between two moments is the difference of two
// rows, however much lies between them. Stacks are in the order of the calling-context tree: those below a node are in
// a row.
//
// Build makes an atlas of a recording's summaries, and of events only where a step begins or the most was live. All its
// numbers are exact; only the ends of ranges are coarse. Where there are many blocks of events, a step may end up to
// half a step early or late, between two blocks. Where events were folded, steps end where there are answers, and it
// is not known when within a step the most was live. A recording under way has an atlas of its events so far. A
// recording that was merged, that has no events, or of which some are damaged, has none: the error is an
// *UnavailableError.
//
// # File
//
// A Cache keeps atlases in files. Numbers are little-endian or, where nothing else is said, unsigned varints; a zigzag
// is a signed one, as in package recording.
//
//	16 bytes  "heaptap atlas 1\n"
//	32 bytes  what the atlas is of: SHA-256 of the recording's length, its beginning and end, and the options
//	u32       CRC-32C of what follows
//	u32       length of the contents, unpacked
//	          contents, as one zstd frame
//
// Contents are moments, in order. Each is
//
//	cut minus the one before; time minus the one before; time of the last event before the cut, minus the one before;
//	bytes live at the cut; the most bytes live since the moment before, minus these; 1 if it ends a step, else 0;
//	number of stacks that changed since the moment before, and for each, by rising id: id minus the one before (the
//	first: the id), allocations, bytes, deallocations, freed bytes, temporary ones
package atlas

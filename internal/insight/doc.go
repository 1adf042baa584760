// Package insight finds what stands out in a recording, and says it in words: how much a fix would save, where, and how
// sure that is.
//
// A Rule looks for one kind of problem. What it finds are Findings: sentences about a function that the user can change
// (docs/design/0010-which-frames-are-shown.md), with a Question that shows the evidence. A Finding sums up all call
// stacks with that function and line, so that a cause is reported once.
//
// The rules keep quiet about innocent programs. Each needs a least saving, and a pattern that programs without the
// fault do not show; its constants say why. A rule first looks at the sums of the whole run, and reads events only if
// these leave something to find, and if there are not too many.
//
//	growth        what stays live rises over a large part of the run (query.Growth)
//	recurring     a function leaves blocks behind in each interval between marks, or in each part of the run although it
//	              frees most of its blocks
//	reallocations a block grows in small steps, and is copied again and again
//	temporaries   blocks that are freed at once take a share of the run
//	unreturned    the allocator keeps free memory after the peak, more than what is live
//	mappings      most of the resident set is mapped by the program itself, past the heap
package insight

// Package diff compares two recordings, or two ranges of one: what is new in the second, what is gone, what grew or
// shrank.
//
// Both sides are asked the same query. What makes their answers comparable are names: before anything is grouped,
// the frames of the first recording get the names that the same code has in the second (package query, Names).
//
//   - A module is the same if its path, its build id or its file name is, whatever the folder and the version behind ".so"; and the
//     executable is the executable.
//   - A function is the same if its name and module are, without the endings that a compiler gives to its clones. Whether it was
//     inlined does not matter: inlined functions are frames like others; neither does the file that it lies in, nor its parameters
//     if it has no like with the same ones and there is only one such function.
//   - A line tells call sites apart: several places of one function at which it calls the same function, or the allocator. Those of
//     the two recordings are paired in the order of their lines, so that code may move. If one side has more of them, those remain
//     that leave over the pairs most alike: in the mean size of what is allocated through them, then in how far their lines have
//     moved. In modules of the same build id, lines are what they are.
//   - A function without a name is its module and the offset in it; one outside of any file is anything outside of any file.
//   - A thread is the same if its name is, and its place among the threads of that name.
//
// So a call stack of the first recording is paired with one of the second that reads the same but for lines. What
// is counted on either side, package query counts: selves sum up to the whole on both, and so do their differences.
package diff

// Package diff compares two recordings, or two ranges of one: what is new in the second, what is gone, what grew or
// shrank.
//
// Both sides are asked the same query. Names make their answers comparable: before anything is grouped, the frames of
// the first recording get the names that the same code has in the second (package query, Names).
//
//   - Modules are the same if their path, their build id or their file name is, whatever the folder and the version
//     after ".so". The executables are the same.
//   - Functions are the same if name and module are, without the suffixes that compilers give to clones. Inlining does
//     not matter: inlined functions are frames like others. Nor does the file. Parameters do not matter if no function
//     on the other side has the same ones and only one has the same name.
//   - Lines distinguish call sites: several places of one function at which it calls the same function, or the
//     allocator. Those of the two recordings are paired in the order of their lines, since code may move. If one side
//     has more of them, those stay unpaired that leave the most similar pairs: first in the mean size of what is
//     allocated through them, then in how far their lines have moved. In modules with equal build ids, equal lines are
//     the same.
//   - A function without a name is known by its module and offset. All code outside of files is one function.
//   - Threads are the same if their name is, and their place among the threads of that name.
//
// So a call stack of the first recording is paired with one of the second that is the same except for lines. Package
// query counts each side: selves sum up to the whole on both, and so do their differences.
package diff

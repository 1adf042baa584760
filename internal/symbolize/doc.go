// Package symbolize names program counters: the function, file and line of each, and what was inlined there.
//
// Only addresses that occur are looked up, each module by itself: a broken module costs its own names and leaves a
// note. A file on disk is used only if its build id is that of the file that the process loaded; names from another
// build would look right and be wrong.
//
// For one module the sources are, in this order: DWARF of the file itself, DWARF of its separate debug file (found by
// build id, then by .gnu_debuglink), the symbol table of either, the small one in .gnu_debugdata, the dynamic symbols,
// the stubs of the procedure linkage table. DWARF gives functions, lines and inlining; the symbol table gives the
// mangled name where DWARF has only the last part of a name. Split debug information (-gsplit-dwarf) is searched for in
// a package (.dwp) first, then where the compiler put it and beside the program. Code outside of any file is looked up
// in the map that JIT compilers write for perf.
//
// Names are cached by build id and address (package namecache), if the caller gives a cache: the next run reads the
// files only for new addresses. Names are cached only if nothing was wrong with the files.
//
// A return address belongs to the call before it, so it is looked up one byte earlier. The address of an interrupted
// instruction is looked up as it is.
package symbolize

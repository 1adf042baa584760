// Package symbolize names program counters: which function, file and line each one is, and what was inlined there.
//
// Only the addresses that occur are looked up, module by module, each module on its own: what is wrong with one costs
// its own names and leaves a note. A file on disk is believed only if its build id is the one that the process had
// loaded; names from another build would look right and be wrong.
//
// For one module the sources are, in this order: DWARF of the file itself, DWARF of its separate debug file (found by
// build id, then by .gnu_debuglink), the symbol table of either, the small one in .gnu_debugdata, the dynamic symbols,
// the stubs of the procedure linkage table. DWARF gives functions, lines and inlining; the symbol table gives the
// mangled name where DWARF has only the last part of a name. What a compiler split off (-gsplit-dwarf) is looked for
// where it put it and beside the program, in a package (.dwp) first. Code outside of any file is looked up in the map
// that JIT compilers write for perf.
//
// What was found is kept by build id and address (package namecache), if the caller gives a cache: the next run asks
// the files only for addresses that are new. Names are kept only when nothing was wrong with the files.
//
// A return address belongs to the call before it, so it is looked up one byte earlier; the address of an interrupted
// instruction is looked up as it is.
package symbolize

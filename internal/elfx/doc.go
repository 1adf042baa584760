// Package elfx reads ELF files as a profiler needs them: what kind of program a file is, its build id, its sections
// (compressed ones too), which symbol an address belongs to, where its separate debug information lies, and the small
// symbol table that some distributions leave in a stripped file.
//
// A File is a read-only mapping of a file on disk. Nothing is copied out of it before it is asked for, so opening a
// file of gigabytes costs the pages that hold its headers. Addresses are those of the file itself (virtual addresses as
// linked, before the loader adds a bias).
//
// Files are not trusted. They may be truncated, forged, or change while they are mapped; every function of this package
// answers with an error then. A file that shrinks under its mapping makes a plain load fault: code that touches section
// bytes outside of this package runs under Contain, which turns such a fault, and any panic, into an error.
//
// Symbols are not loaded into tables. The addresses to look up are known beforehand and few; the symbol table is walked
// once past them, so that memory depends on the question and not on the size of the program.
package elfx

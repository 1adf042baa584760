// Package elfx reads from ELF files what a profiler needs: the kind of program, the build id, sections (also compressed
// ones), which symbol an address belongs to, where the separate debug information is, and the small symbol table that
// some distributions leave in a stripped file.
//
// A File is a read-only mapping of a file on disk. Nothing is copied before it is requested, so opening a file of
// gigabytes costs the pages that hold its headers. Addresses are relative to the file (virtual addresses as linked,
// before the loader adds a bias).
//
// Files are not trusted. They may be truncated, forged, or change while they are mapped; every function of this package
// then returns an error. If a file shrinks while it is mapped, loads from it fault: code outside of this package that
// reads section bytes runs under Contain, which turns such a fault, and any panic, into an error.
//
// Symbols are not loaded into tables. The addresses to look up are known beforehand and few; the symbol table is read
// once for all of them, so that memory depends on the addresses and not on the size of the program.
package elfx

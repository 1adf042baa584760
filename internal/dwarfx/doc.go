// Package dwarfx answers one question from DWARF debug information: to which function, file and line do these addresses
// belong, and what was inlined there? It reads versions 2 to 5, 32- and 64-bit DWARF, little-endian.
//
// The addresses are known beforehand and few; the debug information may be gigabytes. So nothing is built that grows
// with the program, except for one number per unit:
//
//   - Every unit's root entry is read for the address ranges that it covers. (.debug_aranges would say the same, but it
//     is optional and often incomplete.)
//   - In a unit that covers a wanted address, the line program is run once. Its rows are compared with the sorted
//     wanted addresses and not stored. The entries are walked once; subtrees without wanted addresses are skipped if
//     the producer left a sibling reference.
//   - If a compiler split a unit (-gsplit-dwarf), its line program, its addresses and, before DWARF 5, its range lists
//     are in the program, and its entries in another file. The caller opens that file, and it is closed after the unit.
//   - Names are read only for functions that contain a wanted address, through abstract origins and specifications.
//
// Linkers keep the debug information of functions that they drop: duplicates of inline functions, sections without
// references. Their addresses are then near zero, near the top, or those of the copy that was kept. Ranges outside of
// the code segments are ignored. If several units claim an address, the one with the tightest range is used, and of
// equal ones the first.
//
// Debug information may be forged. Every read is checked, and a budget of steps in proportion to the sections' size
// limits the cost of lists that refer to each other over and over. A damaged unit loses only its own names.
package dwarfx

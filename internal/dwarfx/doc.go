// Package dwarfx answers one question from DWARF debug information: which function, file and line do these addresses
// belong to, and what was inlined there. It reads versions 2 to 5, 32- and 64-bit DWARF, little-endian.
//
// The addresses are known beforehand and few, the debug information may be gigabytes. So nothing is built that grows
// with the program, apart from one number per unit:
//
//   - Every unit's root entry is read for the address ranges that it covers. (.debug_aranges would say the same, but it
//     is optional and often incomplete.)
//   - A unit that covers a wanted address has its line program run once, rows compared with the sorted wanted addresses
//     as they come and forgotten, and its entries walked once, subtrees without wanted addresses skipped where the
//     producer left a sibling reference.
//   - Where a compiler has split a unit (-gsplit-dwarf), its line program, addresses and, before DWARF 5, range lists are in the
//     program and its entries elsewhere; who asks opens that, and it is closed after the unit.
//   - Names are read for the functions that were hit, through abstract origins and specifications.
//
// Linkers keep the debug information of functions that they drop: duplicates of inline functions, sections without
// references. Its addresses then are near zero, near the top, or those of the copy that was kept. Ranges outside of the
// code segments are ignored, and of several units that claim an address the one with the tighter range, then the first,
// is believed.
//
// Debug information may be forged. Every read is checked, and a budget of steps in proportion to the sections' size
// bounds what lists that refer to each other over and over can cost. A damaged unit loses its own names only.
package dwarfx

// Package symbols holds the judges of names, files and lines: addr2line and llvm-symbolizer, asked for the same
// addresses as heaptap, and what counts as the same answer.
//
// The quick tests of internal/symbolize use it on small programs. The large tier here builds programs of some size in
// C, C++, Rust and Fortran, in every version of DWARF, with every packing of its sections and in every place where
// debug information may lie, and compares addresses taken evenly over all of their code. It needs compilers, so it has
// a build tag, and it writes docs/symbols.md:
//
//	tools/setup.sh programs
//	SYMBOLS_PAGE=$PWD/docs/symbols.md go test -tags programs -count=1 -timeout 20m ./tests/symbols
//
// addr2line is the judge. It has errors of its own; where the two differ llvm-symbolizer is asked, and the difference
// counts against heaptap unless llvm-symbolizer sees it as heaptap does.
package symbols

// Package corpus holds small programs whose sources (src/) say exactly what must be recorded of them: one for each way
// in which programs use memory badly, or strangely. The test compiles each without optimisation and with it, records it
// with `heaptap run`, and puts every fact of its source to every command that says something about it.
//
// The facts are worked out by hand, or, where only the running program can know (whether realloc moved a block),
// printed by it. src/corpus.h says how they are written.
package corpus

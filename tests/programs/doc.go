// Package programs checks whole runs of programs: those of src/, which know their own numbers, and real ones, which an
// independent counting library (package count) checks, chained behind the agent in the same run.
//
// A Case says how to start a program and what must hold. Run runs it with `heaptap run` and without heaptap, and
// returns Checks: each has a name, the value found and the value expected. The package uses heaptap only through its
// command line and reads `heaptap report --json`. (One exception: the function of an event is read from the recording,
// since no report shows single events.)
//
// Small cases run in `go test ./tests/e2e`, large ones in `make test-programs`, which writes docs/test-programs.md.
package programs

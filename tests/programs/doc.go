// Package programs holds the judges of whole runs: programs that know their own numbers (src/), and real ones that are
// judged by an independent counting library (package count) chained behind the agent in the same run.
//
// A Case says how to start a program and what must hold. Run records it with `heaptap run`, runs it without heaptap too,
// and returns Checks: each one names a thing, what was found and what must be. Nothing here looks into heaptap: the
// program is the command line, its answers are `heaptap report --json`. (The one exception: which function an event was
// recorded for is read from the recording, since no report shows single events.)
//
// Small cases run in `go test ./tests/e2e`, large ones in `make test-programs`, which writes docs/test-programs.md.
package programs

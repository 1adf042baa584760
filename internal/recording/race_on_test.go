//go:build race

package recording_test

// thinner divides the number of inputs of tests that try very many: with the race detector, each takes ten times as
// long.
const thinner = 36

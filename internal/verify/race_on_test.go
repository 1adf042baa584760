//go:build race

package verify

// thinner divides the number of inputs in tests that try very many: the race detector makes each take ten times as
// long.
const thinner = 7

//go:build race

package recording_test

// thinner is by how much tests that try very many inputs try fewer: the race detector makes each take ten times as
// long.
const thinner = 8

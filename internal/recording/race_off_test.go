//go:build !race

package recording_test

const thinner = 1

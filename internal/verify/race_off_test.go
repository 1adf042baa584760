//go:build !race

package verify

const thinner = 1

//go:build !race

package recording

const thinner = 1

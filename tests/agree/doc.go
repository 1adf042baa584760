// Package agree asks all commands about recordings of real programs, with and without filters: whichever command shows
// a number, it is the same.
package agree

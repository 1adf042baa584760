// Package api judges include/heaptap by programs that use it. The programs of src know what they do, most of them from
// the source of the library that they call, and say what does not hold; examples are those of docs/api.md.
package api

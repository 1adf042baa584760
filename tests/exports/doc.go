// Package exports holds tests only: what heaptap export writes is read by the tools that it is for, and by readers of
// their own kind, and has to sum up to what heaptap report says.
package exports

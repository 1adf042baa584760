// Package humanize formats quantities for people, and parses what people write: sizes, counts, durations and shares.
//
// Sizes are written with decimal prefixes (1 kB is 1000 bytes), as in the documentation of allocators. When sizes are
// parsed, K, M, G and T are powers of 1024, as in the options of other tools.
package humanize

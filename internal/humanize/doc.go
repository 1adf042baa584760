// Package humanize writes quantities as people read them, and reads what people write: sizes, counts, durations and
// shares.
//
// Sizes are decimal when written (1 kB is 1000 bytes), as in the documentation of allocators. When read, K, M, G
// and T are powers of 1024, as in the options of other tools.
package humanize

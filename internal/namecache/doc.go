// Package namecache keeps the names of program counters on disk, so that a short run does not decompress a library's
// debug information again for the few functions that the previous run needed, too.
//
// A cache is a folder of one user. Each file in it belongs to one build of a program or library, and to the files that
// its names came from (Key): a debug file that is installed later changes the key. It is a sequence of batches, each
// with a checksum, that writers append under a lock. Readers take no lock: they read what is complete and skip what is
// damaged. Names are trusted only because the folder belongs to this user and nobody else may write to it; any other
// folder is not used.
//
// The cache never decides whether something is recorded or named. A failure here costs time, not names.
//
//	file   "heaptap names 1\n" batch*
//	batch  length (4 bytes), CRC-32C of the contents (4 bytes), contents
//
// All numbers of contents are unsigned varints:
//
//	contents  texts: count, then length and bytes of each
//	          addresses: count, then for each the distance from the address before, and its frames: count, then for each
//	          function, linkage name, file (indexes of texts), 2 x line + 1 if inlined
package namecache

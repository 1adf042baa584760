// SPDX-License-Identifier: Apache-2.0
//
// none.c: a library for 32-bit programs that does nothing at all.
//
// heaptap records 64-bit programs. A child with 32 bits inherits LD_PRELOAD all the same, and its loader would complain
// on the child's stderr about a library of the wrong class. The path in LD_PRELOAD therefore holds the loader's token
// $PLATFORM, which leads a 32-bit loader here.
typedef int heaptap_does_not_record_32_bit_programs;

// SPDX-License-Identifier: Apache-2.0
//
// none.c: a library for 32-bit programs that does nothing at all.
//
// heaptap records 64-bit programs. A 32-bit child inherits LD_PRELOAD, too, and its loader would complain on stderr
// about a library of the wrong class. So the path in LD_PRELOAD contains the loader's token $PLATFORM, which leads a
// 32-bit loader here.
typedef int heaptap_does_not_record_32_bit_programs;

// SPDX-License-Identifier: Apache-2.0
//
// hooks_frame.c: __register_frame and __deregister_frame, with which JIT compilers register their code.
//
// Each ends by jumping to the real function, of libgcc or another unwinder, so that its allocations have no frame of
// ours in their stacks.

#include "unwind/frames.h"
#include "record/real.h"

HT_EXPORT void __register_frame(void *begin)
{
	void (*real)(void *) = (void (*)(void *))ht_real_operator(HT_REGISTER_FRAME);
	ht_frames_add((u64)begin);
	if (real)
		real(begin);
}

HT_EXPORT void __deregister_frame(void *begin)
{
	void (*real)(void *) = (void (*)(void *))ht_real_operator(HT_DEREGISTER_FRAME);
	ht_frames_remove((u64)begin);
	if (real)
		real(begin);
}

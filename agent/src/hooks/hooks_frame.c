// SPDX-License-Identifier: Apache-2.0
//
// hooks_frame.c: __register_frame and __deregister_frame, by which the makers of generated code register it.
//
// They are passed on to whose they are, which is libgcc's or another unwinder's, as the last thing that is done: what
// that allocates has no frame of ours in its stack.

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

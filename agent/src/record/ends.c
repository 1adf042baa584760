// SPDX-License-Identifier: Apache-2.0
//
// ends.c: notes when a thread ends. A destructor of a key of libc's runs when the thread's function has returned, or
// pthread_exit was called. It only notes the time: libc may still free what it keeps for the thread, so the thread's
// state stays. A value that is set again has it run once more after those of other keys, up to four times. Threads that
// are not libc's have no destructors; their end is noted when their state is taken over (thread.c).

#include "base/filter.h"
#include "base/sys.h"
#include "record/thread.h"

// All that glibc (since 2.17) and musl have. Where they are missing, the program has no threads of libc's.
int pthread_key_create(u32 *key, void (*destructor)(void *)) __attribute__((weak));
int pthread_setspecific(u32 key, const void *value) __attribute__((weak));
__asm__(".symver pthread_key_create, pthread_key_create@GLIBC_2.2.5");
__asm__(".symver pthread_setspecific, pthread_setspecific@GLIBC_2.2.5");

// glibc keeps the values of so many keys in the thread itself, and allocates memory for those of others.
#define KEYS_WITHIN 32

static u32 key, has_key;

static void ends(void *unused)
{
	(void)unused;
	// In a forked child that has not noticed it, the state is its parent's.
	if (!ht_load(&ht_state->generation) || !ht_clock_is_allowed())
		return;
	struct ht_thread *t = ht_thread_own();
	if (t != &ht_no_thread)
		ht_store_release(&t->stream->end, ht_clock());
	ht_thread_note_end();
}

__attribute__((constructor)) static void begin(void)
{
	u32 made = 0;
	if (!pthread_key_create || !pthread_setspecific || pthread_key_create(&made, ends) != 0 || made >= KEYS_WITHIN)
		return;
	key = made;
	ht_store_release(&has_key, 1);
}

void ht_thread_note_end(void)
{
	if (ht_load_acquire(&has_key))
		pthread_setspecific(key, &has_key);
}

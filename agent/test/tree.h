// SPDX-License-Identifier: Apache-2.0
//
// tree.h: a random tree of calls. Its frames come from menus of functions (makers), each of which makes one kind of
// frame and calls any(), which calls the next one or makes an event.
#ifndef HT_TREE_H
#define HT_TREE_H

#include <cstdint>
#include <cstddef>

#include "check.h"

#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone))
#endif

typedef void maker(int depth);

struct menu {
	maker *const *makers;
	unsigned count;
};

extern menu scenario_menu; // the kinds of frames that a scenario tests
extern void (*leaf)(); // called at the end of a branch; by default, an event
extern thread_local uint64_t seed;
extern volatile long sink;

uint64_t rnd();
// Calls the next frame, or the leaf if depth is 0.
void any(int depth);
// One of the makers of scenario_menu, or an ordinary one if there are none.
void one(int depth);

// Ordinary frames (tree.cc).
maker plain_small, plain_large, with_alloca, realigned, realigned_alloca;
// Frames with nonlocal exits (nonlocal_exits.cc).
maker sorting, catching, catching_deep, forced, jumping, jumping_deep, signalled, signalled_elsewhere, in_coroutine;
// Runs the scenario under the trap flag, with an event for every instruction, until there are that many events
// (stepping.cc).
void stepping(long wanted);
// Frames of machine code generated at run time (generated.cc).
maker with_frame_pointer, without_frame_pointer, with_rbp_in_use;

#endif

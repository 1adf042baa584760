// SPDX-License-Identifier: Apache-2.0
//
// timed.h: how long the real functions take (--time-calls).
#ifndef HT_TIMED_H
#define HT_TIMED_H

// From now on their time is added to each thread's struct ht_counts. Called once, when the real functions are known.
void ht_timed_init(void);
// Whether ht_timed_init has been called.
int ht_is_timed(void);

#endif

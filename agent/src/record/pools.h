// SPDX-License-Identifier: Apache-2.0
//
// pools.h: records what the program reports of its own pools. heaptap.h documents each function.
#ifndef HT_POOLS_H
#define HT_POOLS_H

#include "base/base.h"

#define HEAPTAP_AGENT
#include "../../../include/heaptap/heaptap.h"

// Whether the id was ever created. A program may pass any number.
int ht_pool_is(heaptap_pool_id pool);

heaptap_pool_id ht_pool_create(const char *name);
void ht_pool_backing(heaptap_pool_id pool, const void *block, size_t size);
void ht_pool_alloc(heaptap_pool_id pool, const void *p, size_t size);
void ht_pool_free(heaptap_pool_id pool, const void *p);
void ht_pool_move(heaptap_pool_id pool, const void *from, const void *to, size_t size);
void ht_pool_clear(heaptap_pool_id pool);
void ht_pool_destroy(heaptap_pool_id pool);

#endif

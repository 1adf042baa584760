// SPDX-License-Identifier: Apache-2.0
//
// test_sampled.c: tests that allocations are chosen with the right probability, and that the filter is exact.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../src/record/sampled.c"

static struct ht_header header;
struct ht_header *ht_header = &header;
struct ht_state ht_state[1];
__thread struct ht_local ht_local;
u32 ht_pid = 1;

void *ht_map(u64 size)
{
	return calloc(1, size);
}

void ht_unmap(void *p, u64 size)
{
	(void)size;
	free(p);
}

static int failed;

static void check(int ok, const char *what, double got, double want)
{
	if (!ok) {
		printf("%s: %.9g, expected %.9g\n", what, got, want);
		failed = 1;
	}
}

// Checks that the share of n that was chosen is within 4.5 standard errors of the probability.
static void share(const char *what, u64 chosen, u64 n, double p)
{
	double error = sqrt(p * (1 - p) / (double)n);
	check(fabs((double)chosen / (double)n - p) <= 4.5 * error + 1e-12, what, (double)chosen / (double)n, p);
}

static void choose(u64 sample, const u64 *sizes, u32 kinds, u64 rounds)
{
	u64 chosen[8] = {0};
	double mean = (double)(sample & ~HT_SAMPLED_CALLS);
	header.sample = sample;
	ht_state->size_mask = sample & HT_SAMPLED_CALLS ? 0 : ~0ull;
	ht_sample_init();
	ht_sample_after_fork();
	for (u64 i = 0; i < rounds; i++)
		for (u32 k = 0; k < kinds; k++)
			if (ht_sample_is_due(sizes[k]) && ht_sample_draw(sizes[k]))
				chosen[k]++;
	for (u32 k = 0; k < kinds; k++) {
		double size = sizes[k] ? (double)sizes[k] : 1;
		char what[80];
		snprintf(what, sizeof(what), "1 in %.0f %s, size %.0f", mean,
			 sample & HT_SAMPLED_CALLS ? "calls" : "bytes", size);
		share(what, chosen[k], rounds, sample & HT_SAMPLED_CALLS ? 1 / mean : -expm1(-size / mean));
	}
}

static void test_choice(void)
{
	static const u64 sizes[] = {0, 1, 24, 1000, 100000, 600000, 5000000, 8};
	choose(512 << 10, sizes, 8, 1000000);
	choose(1000, sizes, 8, 1000000);
	choose(10, sizes, 3, 2000000);
	choose(1, sizes, 3, 2000000);
	for (u64 calls = 1; calls <= 1000; calls *= 10)
		choose(calls | HT_SAMPLED_CALLS, sizes, 3, 2000000);
	choose(2 | HT_SAMPLED_CALLS, sizes, 3, 2000000);
	choose(3 | HT_SAMPLED_CALLS, sizes, 3, 2000000);
}

// The scale determines the mean of all draws, so its error is the bias of every estimate.
static void test_scale(void)
{
	static const u64 means[] = {2, 3, 10, 1000, 99999, 1 << 20, (1 << 20) + 1, 5000000, 1ull << 40, 1ull << 46};
	for (u32 i = 0; i < sizeof(means) / sizeof(*means); i++) {
		double bytes = (double)means[i] * log(2) * (1 << SCALE_BITS);
		double calls = -log(2) / log1p(-1 / (double)means[i]) * (1 << SCALE_BITS);
		header.sample = means[i];
		ht_sample_init();
		check(fabs((double)scale / bytes - 1) < 1e-5, "bytes", (double)scale, bytes);
		header.sample |= HT_SAMPLED_CALLS;
		ht_sample_init();
		check(fabs((double)scale / calls - 1) < 2e-5, "calls", (double)scale, calls);
	}
	srand(1);
	for (u32 i = 0; i < 100000; i++) {
		u64 x = ((u64)rand() << 40 ^ (u64)rand() << 20 ^ (u64)rand()) >> rand() % 60 | 1;
		double got = (double)log2_of(x) / (double)(1ull << LOG_BITS), want = log2((double)x);
		check(fabs(got - want) < 1e-14 * (want + 1), "log2", got, want);
	}
}

// Compares the filter with an array that knows everything.
static void test_filter(void)
{
	enum { BLOCKS = 40000 };
	static u8 is_held[BLOCKS];
	u64 missed = 0, wrong = 0, none = 0;
	for (u64 step = 0; step < 3000000; step++) {
		u64 i = (u64)rand() % BLOCKS, full = step > 2000000; // at the end more than it can distinguish
		const void *p = (const void *)(0x7f0000000000 + i * 16);
		if (is_held[i]) {
			missed += !ht_filter_may_hold(p) || !ht_filter_take(p);
			is_held[i] = 0;
		} else if (full || rand() % 16 == 0) {
			ht_filter_add(p);
			is_held[i] = 1;
		} else {
			wrong += ht_filter_take(p) != 0;
			none++;
		}
	}
	check(missed == 0, "blocks that the filter does not know", (double)missed, 0);
	check(wrong < none / 100, "blocks that the filter knows wrongly", (double)wrong, 0);
	ht_filter_saturate();
	check(ht_filter_take((const void *)0x1230), "a saturated filter", 0, 1);
}

int main(void)
{
	test_scale();
	test_choice();
	test_filter();
	printf("sampling: %s\n", failed ? "FAILED" : "ok");
	return failed;
}

// Forty programs that leak and forty that do not, as shapes of what is live over time. `shapes` lists them: L or I (for
// innocent), and the name. `shapes NAME` runs one for a second, in ticks of 5 ms; `shapes NAME A B` with other numbers.
// Ticks are moments, not pauses: after a delay, the program catches up, so that the shape is the same on a busy
// machine.
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))
enum { TICKS = 200, MANY = 20000 };

static double ms_per_tick = 5;
static struct timespec start;
static void *volatile held[MANY]; // what a program holds
static void *volatile lost;

static void tick(int n)
{
	int64_t ns = start.tv_nsec + (int64_t)(n * ms_per_tick * 1e6);
	struct timespec t = {start.tv_sec + ns / 1000000000, ns % 1000000000};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static uint32_t state = 12345;

// chance returns a random number, at least 0 and less than 1, the same ones in every run.
static double chance(void)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) / (double)(1 << 24);
}

// What only leaking shapes call, and all of them.
static NOINLINE void leak(size_t size)
{
	lost = malloc(size);
}

static NOINLINE void *request(size_t size)
{
	return malloc(size);
}

static NOINLINE void work(void)
{
	for (int i = 0; i < 20; i++) {
		void *volatile p = malloc(100 + 10 * i);
		free(p);
	}
}

static void put(int i, size_t size)
{
	free(held[i]);
	held[i] = request(size);
}

static void drop(int from, int to)
{
	for (int i = from; i < to; i++) {
		free(held[i]);
		held[i] = NULL;
	}
}

// Leaking: rates. N blocks, at equal distances.
static void steady(int n, int size)
{
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n);
		leak(size);
		work();
	}
	tick(TICKS);
}

static void slow_15(int a, int b)
{
	(void)a, (void)b;
	ms_per_tick = 9; // 1.8 s
	steady(15, 100);
}

// Of N requests, each EACHth is forgotten. All blocks have one call stack, which need not be leak's own.
static NOINLINE void *leak_some(size_t size)
{
	return malloc(size);
}

static void one_in(int each, int n)
{
	for (int i = 0; i < n; i++) {
		if (i % 10 == 0)
			tick(i * TICKS / n);
		void *p = leak_some(200);
		if (i % each != each / 2)
			free(p);
		else
			lost = p;
	}
	tick(TICKS);
}

// The same with INFLIGHT requests at a time, and random forgetting.
static void inflight(int inflight, int percent)
{
	for (int i = 0; i < 2000; i++) {
		if (i % 10 == 0)
			tick(i / 10);
		int slot = i % inflight;
		if (chance() * 100 >= percent)
			free(held[slot]);
		held[slot] = leak_some(64);
	}
	drop(0, inflight);
	tick(TICKS);
}

static void random_sizes(int heavy, int b)
{
	(void)b;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		double u = chance();
		leak(heavy ? (size_t)(16 / (u + 1e-4)) : 1 + (size_t)(u * 1000));
	}
	tick(TICKS);
}

// Leaking: starts. From PERCENT of the run on.
static void from(int percent, int step)
{
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		work();
		if (i >= percent * TICKS / 100 && i % step == 0)
			leak(100);
	}
	tick(TICKS);
}

// Leaking: bursts. N bursts of SIZE blocks, at equal distances.
static void bursts(int n, int size)
{
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n + 4);
		for (int k = 0; k < size; k++)
			leak(100);
	}
	tick(TICKS);
}

static void poisson(int n, int size)
{
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		work();
		if (chance() * TICKS < n)
			for (int k = 0; k < size; k++)
				leak(100);
	}
	tick(TICKS);
}

// While there is load: ON ticks of every PERIOD.
static void phases(int on, int period)
{
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (i % period < on)
			leak(300);
	}
	tick(TICKS);
}

static void by_load(int waves, int b)
{
	(void)b;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		for (double n = 3 * (1 + sin(i * 6.28 * waves / TICKS)); n > chance(); n--)
			leak(50);
	}
	tick(TICKS);
}

// As much as t to the power of PERCENT/100.
static void power(int percent, int n)
{
	int made = 0;
	for (int i = 0; i <= TICKS; i++) {
		tick(i);
		for (; made < n * pow(i / (double)TICKS, percent / 100.0); made++)
			leak(100);
	}
}

// One array that grows by SIZE bytes each STEP ticks.
static NOINLINE void *leak_array(void *p, size_t size)
{
	return realloc(p, size);
}

static void array(int size, int step)
{
	void *p = NULL;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (i % step == 0)
			p = leak_array(p, (size_t)size * (i / step + 1));
	}
	lost = p;
	tick(TICKS);
}

// N blocks at once, of the same call stack, and then a slow leak.
static void after_start(int n, int slow)
{
	for (int i = 0; i < n + slow; i++) {
		if (i >= n)
			tick((i - n + 1) * TICKS / (slow + 1));
		leak(80);
	}
	tick(TICKS);
}

// Each tooth forgets KEEP blocks of 20.
static void toothed_leak(int teeth, int keep)
{
	for (int i = 0; i < teeth; i++) {
		for (int k = 0; k < 20; k++) {
			tick((i * 20 + k) * TICKS / (teeth * 20));
			held[k] = leak_some(500);
		}
		drop(keep, 20);
	}
	tick(TICKS);
}

// A container that only the end of the program frees.
static void until_exit(int n, int b)
{
	(void)b;
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n);
		held[i] = leak_some(128);
	}
	drop(0, n);
}

static void *leaking_thread(void *arg)
{
	for (int i = 0; i < TICKS; i += 4) {
		tick(i);
		leak((size_t)arg);
	}
	return NULL;
}

static void threads(int n, int b)
{
	(void)b;
	pthread_t t[8];
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, leaking_thread, (void *)(intptr_t)(100 + i));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	tick(TICKS);
}

// IN blocks come each tick, and OUT go: the oldest.
static void queue_that_lags(int in, int out)
{
	int first = 0, last = 0;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		for (int k = 0; k < in; k++)
			held[last++] = leak_some(256);
		drop(first, first + out);
		first += out;
	}
	tick(TICKS);
}

static NOINLINE void leak_by(int how)
{
	void *p = NULL;
	switch (how) {
	case 0:
		p = calloc(10, 10);
		break;
	case 1:
		p = realloc(NULL, 99);
		break;
	case 2:
		p = strdup("a name that nobody frees");
		break;
	default:
		if (posix_memalign(&p, 64, 300) != 0)
			abort();
	}
	lost = p;
}

static void other(int how, int n)
{
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n);
		leak_by(how);
	}
	tick(TICKS);
}

// Listeners are registered again and again; half of the new ones go.
static void half_freed(int n, int b)
{
	(void)b;
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n);
		void *p[4];
		for (int k = 0; k < 4; k++)
			p[k] = leak_some(40);
		free(p[0]);
		free(p[2]);
	}
	tick(TICKS);
}

// The leak ends when the program shuts down, PERCENT before its end.
static void shutdown_idle(int percent, int n)
{
	for (int i = 0; i < n; i++) {
		tick(i * TICKS * (100 - percent) / 100 / n);
		leak(70);
	}
	tick(TICKS);
}

// Innocent: what is filled until PERCENT of the run, N blocks, and then kept.
static void fill(int percent, int n)
{
	for (int i = 0; i < n; i++) {
		tick(i * TICKS * percent / 100 / n);
		put(i, 100);
	}
	for (int i = TICKS * percent / 100; i < TICKS; i++) {
		tick(i);
		work();
	}
	tick(TICKS);
}

// Keys at random: what is new is kept. After DRAWS draws of KEYS keys, little is new.
static void keys(int keys, int draws)
{
	for (int i = 0; i < draws; i++) {
		tick(i * TICKS / draws);
		int k = (int)(chance() * keys);
		if (held[k] == NULL)
			put(k, 120);
	}
	tick(TICKS);
}

// The N newest of ALL.
static void newest(int n, int all)
{
	for (int i = 0; i < all; i++) {
		tick(i * TICKS / all);
		put(i % n, 1000);
	}
	tick(TICKS);
}

// Entries live for TTL ticks; they are looked after each EACH ticks.
static void expiring(int ttl, int each)
{
	int first = 0;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		put(i, 300);
		if (i % each == 0)
			for (; first < i - ttl; first++)
				drop(first, first + 1);
	}
	tick(TICKS);
}

// Teeth of PERIOD ticks; the last one is cut off by the end.
static void teeth(int period, int per_tick)
{
	int n = 0;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (i % period == 0) {
			drop(0, n);
			n = 0;
		}
		for (int k = 0; k < per_tick; k++)
			put(n++, 64);
	}
	tick(TICKS);
}

static void random_teeth(int longest, int b)
{
	(void)b;
	for (int i = 0, n = 0, end = 10; i < TICKS; i++) {
		tick(i);
		if (i == end) {
			drop(0, n);
			n = 0;
			end = i + 5 + (int)(chance() * longest);
		}
		put(n++, 64);
	}
	tick(TICKS);
}

// A queue of random length around MEAN.
static void queue(int mean, int swing)
{
	int first = 0, last = 0;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		int want = mean + (int)((chance() - .5) * 2 * swing);
		if (last - first < want)
			put(last++, 200);
		for (; last - first < want && chance() < .9;)
			put(last++, 200);
		for (; last - first > want && chance() < .9; first++)
			drop(first, first + 1);
	}
	tick(TICKS);
}

// An array of everything so far, whose capacity doubles.
static void doubling(int copies, int b)
{
	(void)b;
	size_t room = 1;
	for (int i = 1; i <= TICKS * 8; i++) {
		if (i % 8 == 0)
			tick(i / 8);
		if ((size_t)i <= room)
			continue;
		room *= 2;
		if (copies)
			put(0, room * 8); // a table that is hashed again
		else
			held[0] = realloc(held[0], room * 8);
	}
}

// A pool that takes chunks, each twice as large.
static void chunks(int first, int b)
{
	(void)b;
	size_t room = 0, used = 0, next = first;
	for (int i = 0, n = 0; i < TICKS; i++) {
		tick(i);
		used += 64;
		if (used > room) {
			put(n++, next);
			room += next;
			next *= 2;
		}
	}
	tick(TICKS);
}

// Buffers are exchanged each PERIOD ticks.
static void exchange(int buffers, int period)
{
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (i % period == 0)
			put(i / period % buffers, 4096 + (size_t)(chance() * 500));
	}
	tick(TICKS);
}

// Free buffers are kept, as many as were ever needed at once.
static void high_water(int mean, int b)
{
	(void)b;
	for (int i = 0, n = 0; i < TICKS; i++) {
		tick(i);
		int need = (int)(mean * (chance() + chance() + chance() + chance()));
		for (; n < need; n++)
			put(n, 512);
	}
	tick(TICKS);
}

// Jobs, one after the other: each builds and frees.
static void jobs(int n, int size)
{
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < size; i++) {
			tick((j * size + i) * TICKS / (n * size));
			put(i, 50 + j);
		}
		drop(0, size);
	}
	tick(TICKS);
}

// What the program prints at its end is collected from PERCENT on.
static void report_at_end(int percent, int table)
{
	for (int i = 0; i < table; i++)
		put(1000 + i, 30);
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		work();
		if (i >= TICKS * percent / 100)
			put(i, 150);
	}
	tick(TICKS);
}

// Parts of the program, each made when it is first used.
static void parts(int n, int size)
{
	for (int i = 0; i < n; i++) {
		tick((i * 2 + 1) * TICKS / (2 * n));
		put(i, size);
	}
	tick(TICKS);
}

static void shrinking(int n, int b)
{
	(void)b;
	for (int i = 0; i < n; i++)
		put(i, 100);
	for (int i = 0; i < n; i++) {
		tick(i * TICKS / n);
		drop(i, i + 1);
	}
	tick(TICKS);
}

// Load that comes and goes in waves: TENTHS/10 of them.
static void waves(int tenths, int most)
{
	int n = 0;
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		int want = (int)(most * (1 - cos(6.28 * tenths / 10 * i / TICKS)) / 2);
		for (; n < want; n++)
			put(n, 90);
		for (; n > want; n--)
			drop(n - 1, n);
	}
	tick(TICKS);
}

// Users come and go: N of them at most.
static void sessions(int n, int percent)
{
	for (int i = 0; i < TICKS * 3; i++) {
		tick(i / 3);
		int k = (int)(chance() * n);
		if (chance() * 100 < percent)
			put(k, 400);
		else
			drop(k, k + 1);
	}
	tick(TICKS);
}

// A buffer that grows by realloc and is given back each PERIOD ticks.
static void buffer(int period, int size)
{
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (i % period == 0)
			drop(0, 1);
		held[0] = realloc(held[0], (size_t)size * (i % period + 1));
	}
	tick(TICKS);
}

static void spikes(int n, int size)
{
	put(MANY - 1, 10);
	for (int i = 0; i < TICKS; i++) {
		tick(i);
		if (chance() * TICKS < n) {
			for (int k = 0; k < size; k++)
				put(k, 1000);
			tick(i + 2);
			drop(0, size);
		}
	}
	tick(TICKS);
}

static const struct shape {
	char kind;
	const char *name;
	void (*run)(int, int);
	int a, b;
} shapes[] = {
	{'L', "steady-100", steady, 100, 100},
	{'L', "steady-8", steady, 8, 100},
	{'L', "slow-15-in-1.8-s", slow_15, 0, 0},
	{'L', "steady-2000", steady, 2000, 32},
	{'L', "large-40", steady, 40, 300000},
	{'L', "tiny-60", steady, 60, 1},
	{'L', "one-request-in-100", one_in, 100, 2000},
	{'L', "one-request-in-100-of-10000", one_in, 100, 10000},
	{'L', "one-request-in-10", one_in, 10, 2000},
	{'L', "forgotten-5-percent-of-8", inflight, 8, 5},
	{'L', "forgotten-3-percent-of-50", inflight, 50, 3},
	{'L', "random-sizes", random_sizes, 0, 0},
	{'L', "heavy-tail", random_sizes, 1, 0},
	{'L', "from-20-percent", from, 20, 2},
	{'L', "from-40-percent", from, 40, 3},
	{'L', "from-55-percent", from, 55, 1},
	{'L', "5-bursts", bursts, 5, 30},
	{'L', "8-bursts", bursts, 8, 10},
	{'L', "20-bursts", bursts, 20, 200},
	{'L', "poisson-30", poisson, 30, 1},
	{'L', "poisson-15", poisson, 15, 4},
	{'L', "load-half-the-time", phases, 20, 40},
	{'L', "load-in-5-phases", phases, 15, 40},
	{'L', "load-in-waves", by_load, 4, 0},
	{'L', "faster-and-faster", power, 200, 200},
	{'L', "slower", power, 70, 200},
	{'L', "array", array, 4096, 1},
	{'L', "array-in-12-steps", array, 65536, 17},
	{'L', "after-a-start-of-1000", after_start, 1000, 20},
	{'L', "after-a-start-of-50", after_start, 50, 50},
	{'L', "10-teeth-one-kept", toothed_leak, 10, 1},
	{'L', "20-teeth-5-kept", toothed_leak, 20, 5},
	{'L', "freed-at-exit", until_exit, 200, 0},
	{'L', "threads", threads, 3, 0},
	{'L', "queue-that-lags", queue_that_lags, 3, 2},
	{'L', "calloc", other, 0, 30},
	{'L', "strdup", other, 2, 50},
	{'L', "aligned", other, 3, 25},
	{'L', "half-freed", half_freed, 50, 0},
	{'L', "idle-before-the-end", shutdown_idle, 6, 80},

	{'I', "start-only", fill, 1, 500},
	{'I', "fills-for-20-percent", fill, 20, 100},
	{'I', "fills-for-45-percent", fill, 45, 300},
	{'I', "fills-for-60-percent", fill, 60, 40},
	{'I', "fills-for-75-percent", fill, 75, 600},
	{'I', "keys-64-of-400", keys, 64, 400},
	{'I', "keys-100-of-600", keys, 100, 600},
	{'I', "keys-500-of-2500", keys, 500, 2500},
	{'I', "newest-40", newest, 40, 200},
	{'I', "newest-half", newest, 100, 200},
	{'I', "newest-10-of-1000", newest, 10, 1000},
	{'I', "expires-after-25-percent", expiring, 50, 1},
	{'I', "expires-after-10-percent", expiring, 20, 15},
	{'I', "teeth-10", teeth, 21, 3},
	{'I', "teeth-3", teeth, 62, 2},
	{'I', "teeth-2", teeth, 96, 1},
	{'I', "teeth-2-cut", teeth, 105, 5},
	{'I', "teeth-at-random", random_teeth, 40, 0},
	{'I', "queue-around-20", queue, 20, 15},
	{'I', "queue-around-100", queue, 100, 20},
	{'I', "array-that-doubles", doubling, 0, 0},
	{'I', "table-that-is-hashed-again", doubling, 1, 0},
	{'I', "chunks-that-double", chunks, 64, 0},
	{'I', "two-buffers", exchange, 2, 3},
	{'I', "log-files", exchange, 7, 5},
	{'I', "high-water", high_water, 30, 0},
	{'I', "jobs-5", jobs, 5, 40},
	{'I', "jobs-2", jobs, 2, 100},
	{'I', "report-from-80-percent", report_at_end, 80, 0},
	{'I', "report-from-70-percent", report_at_end, 70, 100},
	{'I', "parts-3", parts, 3, 10000},
	{'I', "parts-4", parts, 4, 100},
	{'I', "shrinking", shrinking, 150, 0},
	{'I', "wave", waves, 10, 200},
	{'I', "waves-3", waves, 30, 100},
	{'I', "waves-2.4", waves, 24, 100},
	{'I', "sessions-40", sessions, 40, 50},
	{'I', "sessions-200", sessions, 200, 30},
	{'I', "buffer", buffer, 45, 1000},
	{'I', "spikes", spikes, 12, 50},
};

int main(int argc, char **argv)
{
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		if (argc < 2)
			printf("%c %s\n", s->kind, s->name);
		else if (strcmp(s->name, argv[1]) == 0)
			return s->run(argc > 2 ? atoi(argv[2]) : s->a, argc > 3 ? atoi(argv[3]) : s->b), 0;
	}
	return argc >= 2;
}

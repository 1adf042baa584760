#!/usr/bin/env bash
# Makes, in the current folder, what the examples of the documentation talk about: programs, sources, recordings.
set -euo pipefail

cat >server.h <<'CC'
#include <string>
struct Parser {
	void parse(const char *);
};
extern "C" void parse(int);
void cache_fill(int);
CC
cat >parser.c <<'CC'
#include <stdlib.h>
#include "server.h"
char *kept[4096];
static int used;
extern "C" __attribute__((noinline)) void parse(int n)
{
	for (int i = 0; i < n; i++)
		kept[used++ % 4096] = (char *)malloc(100 + i);
}
__attribute__((noinline)) void Parser::parse(const char *text) 
{
	static char *volatile p;
	p = new char[strtol(text, 0, 10)];
	p = (char *)realloc(p, 2000);
	free(p);
}
CC
cat >cache.cc <<'CC'
#include <vector>
#include "server.h"
void cache_fill(int n)
{
	std::vector<int> v;
	for (int i = 0; i < n; i++)
		v.push_back(i);
}
CC
cat >main.cc <<'CC'
#include <heaptap/heaptap.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server.h"
static void *work(void *)
{
	cache_fill(5000);
	parse(20);
	return 0;
}
int main(int argc, char **argv)
{
	for (int round = 0; round < 5; round++) {
		pthread_t t;
		pthread_create(&t, 0, work, 0);
		pthread_setname_np(t, "worker");
		pthread_join(t, 0);
		int64_t id = round;
		heaptap_region_begin("event", &id, 1);
		parse(50);
		heaptap_region_end("event");
		Parser().parse("1000");
		usleep(5000);
	}
	if (argc > 1 && !strcmp(argv[1], "forever")) {
		FILE *f = fopen("pid", "w");
		fprintf(f, "%d\n", getpid());
		fclose(f);
	}
	while (argc > 1 && !strcmp(argv[1], "forever")) {
		parse(1);
		usleep(20000);
	}
	return 0;
}
CC
g++ -g -O1 -I "$INCLUDE" -fPIC -shared -o libcache.so cache.cc
# shellcheck disable=SC2016 # $ORIGIN is for the loader
g++ -g -O1 -I "$INCLUDE" -x c++ -o server main.cc parser.c -L. -lcache -lpthread -Wl,-rpath,'$ORIGIN'
cp "$INCLUDE/../tools/demo/bookshop.amd64" bookshop
cp server app
cp server program
printf '#include <cstdlib>\nint main() { free(malloc(10)); }\n' >tests.cc
g++ -g -O1 -o tests tests.cc
printf '#include <map>\nstd::map<int, int> m;\n' >big.cc
printf 'import json\nprint(len(json.dumps(list(range(1000)))))\n' >script.py
printf 'all: big.o small.o\nsmall.o: tests.cc\n\tg++ -c -o $@ tests.cc\ntest: all\n\t./tests\n' >Makefile
printf 'SELECT 1;\n' >demo.sql
cat >mine.c <<'CC'
// An allocator that never reuses memory.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
static char *room;
static size_t used;
static const size_t all = 1UL << 34;
__attribute__((constructor)) static void start(void)
{
	if (!room)
		room = mmap(0, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
void *memalign(size_t align, size_t size)
{
	start();
	align = align < 16 ? 16 : align;
	size_t at = __atomic_fetch_add(&used, size + 2 * align, __ATOMIC_RELAXED);
	if (at + size + 2 * align > all)
		return 0;
	char *p = (char *)(((uintptr_t)room + at + 2 * align - 1) & ~(align - 1));
	((size_t *)p)[-1] = size;
	return p;
}
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void **p, size_t align, size_t size) { return (*p = memalign(align, size)) ? 0 : ENOMEM; }
void *malloc(size_t size) { return memalign(16, size); }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *old, size_t size)
{
	char *p = malloc(size);
	if (p && old)
		memcpy(p, old, ((size_t *)old)[-1] < size ? ((size_t *)old)[-1] : size);
	return p;
}
void free(void *p) { (void)p; }
CC
gcc -O2 -fPIC -shared -fno-builtin -o libmine.so mine.c

heaptap run -q -o server.4711.htap -- ./server
heaptap run -q -o tests.htap -- ./tests
cp tests.htap tests.4711.htap
heaptap run -q -o make.4711.htap -- make -B test
for name in before.4711 after.4712 old.4711 new.4712 server.4712 before after rank-1 rank-2 main branch a.4711 \
	b.4712; do
	heaptap run -q -o $name.htap -- ./server
done
for n in 1 2 3; do
	cp old.4711.htap old.$n.htap
	cp new.4712.htap new.$n.htap
done
mkdir -p recordings rank-1 rank-2 ~/.config/fish/completions
cp server.4711.htap rank-1/app.1.htap
cp server.4712.htap rank-2/app.1.htap
cp server.4711.htap server.4712.htap recordings
for name in heap heap.before heap.after; do
	heaptap export -f pprof -o $name.pb.gz server.4711.htap
done
heaptap export -f massif -o massif.out.4711 server.4711.htap
heaptap export -f heaptrack -o heaptrack.server.4711.zst server.4711.htap
heaptap leaks --suggest server.4711.htap >known.supp
heaptap report --json server.4711.htap >report.json

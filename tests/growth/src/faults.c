// A program for each fault that heaptap's report finds, and one without: `faults NAME`. The function that is to blame
// has the name of the fault.
#include <heaptap/heaptap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static void *volatile kept;
static char *volatile used;

static void pause_ms(int ms)
{
	struct timespec t = {0, ms * 1000000L};
	nanosleep(&t, NULL);
}

static NOINLINE void *request(int i)
{
	void *volatile list[8];
	for (int k = 0; k < 8; k++)
		list[k] = malloc(50 + (i * 7 + k * 31) % 400);
	for (int k = 1; k < 8; k++)
		free(list[k]);
	return list[0];
}

// Serves for 1.5 s, and keeps what the last 100 requests have left.
static void serve(void (*more)(int))
{
	static void *sessions[100];
	for (int i = 0; i < 1500; i++) {
		free(sessions[i % 100]);
		sessions[i % 100] = request(i);
		more(i);
		pause_ms(1);
	}
	for (int i = 0; i < 100; i++)
		free(sessions[i]);
}

static void nothing(int i)
{
	(void)i;
}

static NOINLINE void growth(int i)
{
	if (i % 3 == 0)
		kept = malloc(200);
}

static NOINLINE void recurring(void)
{
	for (int k = 0; k < 50; k++)
		free(malloc(100 + k));
	kept = malloc(3000);
}

static NOINLINE char *reallocations(char *text, size_t *n, const char *line)
{
	size_t more = strlen(line);
	text = realloc(text, *n + more + 1);
	memcpy(text + *n, line, more + 1);
	*n += more;
	return text;
}

static NOINLINE void temporaries(int i)
{
	used = malloc(40 + i % 50);
	used[0] = (char)i;
	free(used);
}

static NOINLINE char *mappings(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		memset(p, 1, size);
	return p;
}

// Keeps every eighth of its blocks, so that nothing can be given back.
static NOINLINE void unreturned(void)
{
	static void *list[40000];
	for (int i = 0; i < 40000; i++) {
		list[i] = malloc(1000);
		memset(list[i], 1, 1000);
	}
	pause_ms(100);
	for (int i = 0; i < 40000; i++)
		if (i % 8 != 0)
			free(list[i]);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	if (strcmp(name, "nothing") == 0)
		serve(nothing);
	else if (strcmp(name, "growth") == 0)
		serve(growth);
	else if (strcmp(name, "unreturned") == 0) {
		unreturned();
		serve(nothing);
	} else if (strcmp(name, "recurring") == 0) {
		for (int i = 0; i < 10; i++) {
			char mark[32];
			snprintf(mark, sizeof mark, "request %d", i);
			heaptap_mark(mark);
			recurring();
		}
	} else if (strcmp(name, "reallocations") == 0) {
		void *volatile behind = NULL; // so that a block that grows must move
		for (int r = 0; r < 40; r++) {
			char *text = NULL;
			size_t n = 0;
			for (int i = 0; i < 4000; i++) {
				text = reallocations(text, &n, "a line of the text\n");
				void *old = behind;
				behind = malloc(n + 64 + i % 512);
				free(old);
			}
			free(text);
		}
		free(behind);
	} else if (strcmp(name, "temporaries") == 0) {
		for (int i = 0; i < 1000000; i++)
			temporaries(i);
	} else if (strcmp(name, "mappings") == 0) {
		mappings(64 << 20);
		pause_ms(300);
	}
	return 0;
}

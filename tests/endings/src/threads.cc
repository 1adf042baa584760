// SPDX-License-Identifier: Apache-2.0
//
// threads.cc: events at the edges of the lives of threads and of the program. Usage: threads
// short|small|many|handler|edges N
#include "step.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

namespace
{

pthread_key_t key;

// Frees in a destructor of thread-specific data, again and again, as long as the C library lets it.
void key_destructor(void *p)
{
	step_free(p);
	static thread_local int rounds;
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, step_alloc(60));
}

struct Local {
	void *p = step_alloc(70);
	void *q = nullptr;
	~Local()
	{
		step_free(p);
		step_free(q);
		step_free(step_alloc(80)); // and one that lives and dies in a destructor
	}
};
thread_local Local local;

void *short_thread(void *)
{
	local.q = step_alloc(90);
	pthread_setspecific(key, step_alloc(100));
	return nullptr;
}

// VmRSS and what of it is shared memory, in KiB.
void resident(long *all, long *shared)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	*all = atol(strstr(text, "VmRSS:") + 6);
	*shared = atol(strstr(text, "RssShmem:") + 9);
}

void run(long n, void *(*f)(void *), size_t stack)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	pthread_t t[4];
	for (long i = 0; i < n; i += 4) {
		for (auto &x : t)
			if (pthread_create(&x, &attr, f, nullptr))
				_exit(9);
		for (auto &x : t)
			pthread_join(x, nullptr);
	}
}

void short_threads(long n)
{
	long all[2], shared[2];
	run(n / 10, short_thread, 0);
	resident(&all[0], &shared[0]);
	run(n - n / 10, short_thread, 0);
	resident(&all[1], &shared[1]);
	dprintf(2, "%ld %ld\n", all[1] - all[0], shared[1] - shared[0]);
}

void *small_thread(void *)
{
	steps(200);
	return nullptr;
}

// N threads that all live at once, and the CPU time that it takes in seconds. Their stacks lie in one mapping: the
// kernel bounds the number of mappings.
pthread_barrier_t all_here;

void *waits(void *)
{
	steps(5);
	pthread_barrier_wait(&all_here);
	return nullptr;
}

void many_threads(long n)
{
	const size_t size = 32 << 10;
	void *stacks = mmap(nullptr, size * static_cast<size_t>(n), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_t *t = static_cast<pthread_t *>(malloc(static_cast<size_t>(n) * sizeof(*t)));
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	if (stacks == MAP_FAILED || !t || pthread_barrier_init(&all_here, nullptr, static_cast<unsigned>(n)))
		_exit(9);
	for (long i = 0; i < n; i++) {
		pthread_attr_setstack(&attr, static_cast<char *>(stacks) + static_cast<size_t>(i) * size, size);
		if (pthread_create(&t[i], &attr, waits, nullptr))
			_exit(9);
	}
	for (long i = 0; i < n; i++)
		pthread_join(t[i], nullptr);
	struct rusage r;
	getrusage(RUSAGE_SELF, &r);
	printf("%f\n", static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
			       static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6);
	free(t);
}

// How much of a painted stack a handler with one allocation and one deallocation uses, the kernel's frame included.
void *painted;
size_t painted_size;
void handler(int)
{
	step_free(step_alloc(40));
}
long used_by_handler()
{
	painted_size = 65536;
	painted = mmap(nullptr, painted_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t s = {}, old = {};
	s.ss_sp = painted;
	s.ss_size = painted_size;
	struct sigaction a = {};
	a.sa_handler = handler;
	a.sa_flags = SA_ONSTACK;
	if (sigaltstack(&s, &old) || sigaction(SIGUSR1, &a, nullptr))
		_exit(9);
	long most = 0;
	for (int i = 0; i < 5000; i++) { // some of them begin a chunk, or meet something new
		memset(painted, 0xa5, painted_size);
		raise(SIGUSR1);
		auto *b = static_cast<unsigned char *>(painted);
		size_t at = 0;
		while (at < painted_size && b[at] == 0xa5)
			at++;
		most = static_cast<long>(painted_size - at) > most ? static_cast<long>(painted_size - at) : most;
	}
	sigaltstack(&old, nullptr);
	return most;
}

void at_exit()
{
	steps(100);
}

struct Global {
	void *p;
	Global() : p(step_alloc(110))
	{
	}
	~Global()
	{
		step_free(p);
	}
};

__attribute__((constructor(102))) void before_main()
{
	steps(100);
}

__attribute__((destructor(101))) void after_all()
{
	steps(100);
}

} // namespace

static Global global __attribute__((init_priority(200)));

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;
	if (argc < 3 || pthread_key_create(&key, key_destructor))
		return 9;
	if (!strcmp(argv[1], "many"))
		many_threads(n);
	if (!strcmp(argv[1], "short"))
		short_threads(n);
	if (!strcmp(argv[1], "small"))
		run(n, small_thread, PTHREAD_STACK_MIN);
	if (!strcmp(argv[1], "handler"))
		dprintf(2, "%ld\n", used_by_handler());
	atexit(at_exit);
	return 7;
}

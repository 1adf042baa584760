// The main thread starts two threads, of which one starts another one. Two of the three allocate nothing, but free what
// the main thread has allocated. Right before their first calls, another thread allocates than the one that started
// them. None ends before all have made their calls, so that each gets a new stack.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define BLOCKS 2000

static char *blocks[BLOCKS];
static sem_t worker_starts, third_is_there, second_frees, second_has_freed, third_frees, third_has_freed;

static void wait_for(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void release(int from, int to)
{
	for (int i = from; i < to; i++)
		free(blocks[i]);
}

static void *second(void *unused)
{
	wait_for(&second_frees);
	release(0, BLOCKS / 2);
	sem_post(&second_has_freed);
	wait_for(&third_has_freed);
	return unused;
}

static void *third(void *unused)
{
	wait_for(&third_frees);
	release(BLOCKS / 2, BLOCKS);
	sem_post(&third_has_freed);
	return unused;
}

static void *worker(void *unused)
{
	pthread_t thread;
	wait_for(&worker_starts);
	if (pthread_create(&thread, 0, third, 0) != 0)
		abort();
	sem_post(&third_is_there);
	for (int i = 0; i < 10; i++)
		free(malloc(100));
	sem_post(&second_frees);
	pthread_join(thread, 0);
	return unused;
}

int main(void)
{
	pthread_t threads[2];
	sem_t *all[] = {&worker_starts,	   &third_is_there, &second_frees,
			&second_has_freed, &third_frees,    &third_has_freed};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		sem_init(all[i], 0, 0);
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(30);
	if (pthread_create(&threads[0], 0, worker, 0) != 0 || pthread_create(&threads[1], 0, second, 0) != 0)
		abort();
	sem_post(&worker_starts);
	wait_for(&third_is_there);
	wait_for(&second_has_freed);
	for (int i = 0; i < 10; i++)
		free(malloc(200));
	sem_post(&third_frees);
	pthread_join(threads[0], 0);
	pthread_join(threads[1], 0);
}

// One thread that keeps 100 blocks of 1,000 bytes, has 50 of 20,000 at once, and makes 5,000 of 64 one after the other.
#include <cstdlib>
#include <cstring>

static void *keep[100];

__attribute__((noinline)) static void *piece(size_t n)
{
	void *p = malloc(n);
	memset(p, 1, n);
	return p;
}

__attribute__((noinline)) static void leak()
{
	for (int i = 0; i < 100; i++) {
		keep[i] = piece(1000);
	}
}

__attribute__((noinline)) static void peak()
{
	void *v[50];
	for (int i = 0; i < 50; i++) {
		v[i] = piece(20000);
	}
	for (int i = 0; i < 50; i++) {
		free(v[i]);
	}
}

__attribute__((noinline)) static void churn()
{
	for (int i = 0; i < 5000; i++) {
		free(piece(64));
	}
}

int main()
{
	leak();
	peak();
	churn();
	return 0;
}

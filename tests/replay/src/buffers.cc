// Grows buffers, and keeps some of each size: sizes change over time, so that holes are left behind.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 40;
	unsigned random = 7;
	std::vector<char *> kept;
	for (int i = 0; i < rounds; i++) {
		std::vector<char *> now;
		size_t most = 64 << (i % 10);
		for (int k = 0; k < 4000; k++) {
			random = random * 1103515245 + 12345;
			size_t size = 1 + (random >> 8) % most;
			char *p = static_cast<char *>(malloc(size / 4 + 1));
			memset(p, 1, size / 4 + 1);
			p = static_cast<char *>(realloc(p, size));
			memset(p, 2, size);
			now.push_back(p);
		}
		for (size_t k = 0; k < now.size(); k++)
			if (k % 16 == 0)
				kept.push_back(now[k]);
			else
				free(now[k]);
	}
	printf("%zu\n", kept.size());
}

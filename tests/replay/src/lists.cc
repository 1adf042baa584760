// Makes, sorts and drops lists and maps of strings: most of its time is the allocator's.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <string>

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	unsigned random = 1;
	size_t sum = 0;
	std::map<unsigned, std::string> kept;
	for (int i = 0; i < rounds; i++) {
		std::list<std::string> list;
		for (int k = 0; k < 20000; k++) {
			random = random * 1103515245 + 12345;
			list.emplace_back(16 + (random >> 16) % 200, 'x');
			if (k % 4 == 0)
				kept[random >> 8] = list.back();
		}
		while (kept.size() > 30000)
			kept.erase(kept.begin());
		sum += list.size();
	}
	printf("%zu\n", sum);
}

// A program that reads documents. Most bytes are in buffers and pages; most blocks are tiny, and one function makes
// nearly all of those. Which one it is, a number decides.
#include "story.h"

#define OUTLINE __attribute__((noinline))

using Block = std::unique_ptr<char[]>;

static std::vector<Block> kept;

// keep has one block of a hundred stay until the end.
static void keep(int i, Block block)
{
	used(block.get());
	if (i % 100 == 0)
		kept.push_back(std::move(block));
}

// Each takes many blocks of a few bytes if it is the one that was chosen, else few.
OUTLINE int split_words(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[9 + i % 5]));
	return __LINE__ - 1;
}

OUTLINE int quote_fields(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[9 + i % 6]));
	return __LINE__ - 1;
}

OUTLINE int number_rows(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[10 + i % 4]));
	return __LINE__ - 1;
}

// What has most of the bytes.
OUTLINE void read_pages(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[16384 + i % 1000]));
}

OUTLINE void draw_images(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[100000 + i % 3000]));
}

OUTLINE void index_titles(int n)
{
	for (int i = 0; i < n; i++)
		keep(i, Block(new char[70 + i % 50]));
}

int main(int argc, char **argv)
{
	int chosen = argc > 1 ? atoi(argv[1]) % 3 : 0;
	struct {
		const char *name;
		int (*run)(int);
		int line;
	} makers[] = {
		{"split_words", split_words, 0}, {"quote_fields", quote_fields, 0}, {"number_rows", number_rows, 0}};
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 3; i++)
			makers[i].line = makers[i].run(i == chosen ? 8000 : 150);
		read_pages(400);
		draw_images(60);
		index_titles(1500);
		rest(10);
	}
	printf("small %s pieces.cc:%d\n", makers[chosen].name, makers[chosen].line);
}

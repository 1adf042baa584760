// A batch job in steps. One step needs much for a short time; what stays until the end is something else.
#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen; // which step needs much

using Block = std::unique_ptr<char[]>;
static std::vector<Block> accounts, history;

OUTLINE Block read_block(int size)
{
	return std::make_unique<char[]>(size);
}

// The three steps take from some functions; the chosen one twenty times as much.
OUTLINE void sort_records(int n)
{
	std::vector<Block> runs;
	for (int i = 0; i < n; i++) {
		runs.push_back(std::make_unique<char[]>(4000));
		if (i % 100 == 0)
			rest(2);
	}
	rest(100);
}

OUTLINE void join_tables(int n)
{
	std::vector<Block> buckets;
	for (int i = 0; i < n; i++) {
		buckets.push_back(std::make_unique<char[]>(4000));
		if (i % 100 == 0)
			rest(2);
	}
	rest(100);
}

OUTLINE void draw_charts(int n)
{
	std::vector<Block> canvas;
	for (int i = 0; i < n; i++) {
		canvas.push_back(std::make_unique<char[]>(4000));
		if (i % 100 == 0)
			rest(2);
	}
	rest(100);
}

OUTLINE void load_accounts()
{
	for (int i = 0; i < 6000; i++) {
		accounts.push_back(read_block(1500));
		if (i % 50 == 0)
			rest(3);
	}
}

OUTLINE void keep_history()
{
	for (int i = 0; i < 12000; i++) {
		history.push_back(read_block(2000));
		if (i % 50 == 0)
			rest(5);
	}
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) % 3 : 0;
	struct {
		const char *name;
		void (*run)(int);
	} steps[] = {{"sort_records", sort_records}, {"join_tables", join_tables}, {"draw_charts", draw_charts}};
	load_accounts();
	for (int i = 0; i < 3; i++) {
		steps[i].run(i == chosen ? 14000 : 700);
		rest(300);
	}
	accounts.resize(1000);
	keep_history();
	printf("peak %s\n", steps[chosen].name);
}

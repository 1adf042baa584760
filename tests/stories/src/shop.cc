// Three threads that keep some memory, up and down. In the middle, one of them takes much in a short time.
#include <mutex>

#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen; // which function takes much

struct Row {
	char text[900];
};
static std::vector<std::unique_ptr<Row>> catalogue, index_rows, letters;

// rows makes n of them in a time.
OUTLINE void load_catalogue(int n)
{
	for (int i = 0; i < n; i++) {
		catalogue.push_back(std::make_unique<Row>());
		if (i % 100 == 0)
			rest(1);
	}
}

OUTLINE void build_index(int n)
{
	for (int i = 0; i < n; i++) {
		index_rows.push_back(std::make_unique<Row>());
		if (i % 100 == 0)
			rest(1);
	}
}

OUTLINE void write_letters(int n)
{
	for (int i = 0; i < n; i++) {
		letters.push_back(std::make_unique<Row>());
		if (i % 100 == 0)
			rest(1);
	}
}

struct Job {
	const char *thread, *function;
	void (*take)(int);
	std::vector<std::unique_ptr<Row>> *kept;
};
static const Job jobs[] = {
	{"importer", "load_catalogue", load_catalogue, &catalogue},
	{"indexer", "build_index", build_index, &index_rows},
	{"mailer", "write_letters", write_letters, &letters},
};

static void work(int number, double until)
{
	const Job &job = jobs[number];
	name_thread(job.thread);
	for (int round = 0; seconds() < until; round++) {
		double now = seconds();
		if (chosen == number && now > until * 0.5 && now < until * 0.6)
			job.take(50000);
		else
			job.take(400 + 150 * ((round + number) % 5));
		size_t keep = job.kept->size() > 20000 ? 45000 : 3000;
		if (job.kept->size() > keep)
			job.kept->resize(keep - 300 * (round % 7));
		rest(20);
	}
}

// caches fills at the begin, and stays.
OUTLINE std::vector<std::string> warm_up()
{
	std::vector<std::string> cache;
	for (int i = 0; i < 2000; i++) {
		cache.push_back(std::string(2000, 'c'));
		if (i % 50 == 0)
			rest(5);
	}
	return cache;
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) % 3 : 0;
	double until = argc > 2 ? atof(argv[2]) : 5;
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back(work, i, until);
	auto cache = warm_up();
	for (auto &t : threads)
		t.join();
	printf("rise %s %s\n", jobs[chosen].function, jobs[chosen].thread);
}

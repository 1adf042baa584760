// The program that `make demo` records: a bookshop that loads a catalogue, indexes its words, serves customers and
// forgets to free some of the pages it renders. It is committed as a program with its debug information, so that the
// demonstration needs no compiler and no other package.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOOKS = 50000, WORDS = 4096, CUSTOMERS = 400000 };

struct book {
	char *title;
	unsigned price;
};

struct word {
	struct word *next;
	char text[16];
	unsigned *books; // numbers of the books with this word
	unsigned count, room;
};

static struct book *catalogue;
static struct word *words[WORDS];
static char *last_page;

static void *xmalloc(size_t size)
{
	void *p = malloc(size);
	if (!p) {
		fputs("bookshop: no memory\n", stderr);
		exit(1);
	}
	return p;
}

static unsigned random_number(void)
{
	static unsigned state = 42; // always the same
	return (state = state * 1103515245 + 12345) >> 8;
}

static char *make_title(unsigned number)
{
	char text[64];
	int length = snprintf(text, sizeof text, "the %x tales of %u", random_number() % WORDS, number);
	char *title = xmalloc(length + 1);
	return memcpy(title, text, length + 1);
}

static void load_catalogue(void)
{
	catalogue = xmalloc(BOOKS * sizeof *catalogue);
	for (unsigned i = 0; i < BOOKS; i++) {
		catalogue[i].title = make_title(i);
		catalogue[i].price = 500 + random_number() % 2000;
	}
}

static struct word *find_word(const char *text)
{
	unsigned hash = 5381;
	for (const char *c = text; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	struct word **place = &words[hash % WORDS];
	for (struct word *w = *place; w; w = w->next)
		if (!strcmp(w->text, text))
			return w;
	struct word *w = xmalloc(sizeof *w);
	memset(w, 0, sizeof *w);
	snprintf(w->text, sizeof w->text, "%s", text);
	w->next = *place;
	return *place = w;
}

static void index_book(unsigned number)
{
	char title[64];
	snprintf(title, sizeof title, "%s", catalogue[number].title);
	for (char *rest = title, *text; (text = strsep(&rest, " "));) {
		struct word *w = find_word(text);
		if (w->count == w->room) {
			w->room = w->room ? 2 * w->room : 4;
			w->books = realloc(w->books, w->room * sizeof *w->books);
			if (!w->books)
				exit(1);
		}
		w->books[w->count++] = number;
	}
}

static char *render_page(unsigned number)
{
	char *price = xmalloc(32);
	snprintf(price, 32, "%u.%02u", catalogue[number].price / 100, catalogue[number].price % 100);
	char *page = xmalloc(1024);
	snprintf(page, 1024, "%s: %s\n", catalogue[number].title, price);
	free(price);
	return page;
}

static void serve_customer(unsigned customer)
{
	char *page = render_page(random_number() % BOOKS);
	if (customer % 50 == 0)
		last_page = page; // and the page before it is leaked
	else
		free(page);
}

int main(void)
{
	load_catalogue();
	for (unsigned i = 0; i < BOOKS; i++)
		index_book(i);
	for (unsigned i = 0; i < CUSTOMERS; i++)
		serve_customer(i);
	printf("%u books, %u customers; the last page:\n%s", BOOKS, CUSTOMERS, last_page);
	for (unsigned i = 0; i < WORDS; i++)
		for (struct word *w = words[i], *next; w; w = next) {
			next = w->next;
			free(w->books);
			free(w);
		}
	for (unsigned i = 0; i < BOOKS; i++)
		free(catalogue[i].title);
	free(catalogue);
}

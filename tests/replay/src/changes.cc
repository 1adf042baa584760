// Three programs that allocate in a way that could be better, and the same ones after the change:
// changes temporaries|reserve|pool before|after
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static bool after;
static unsigned state = 11;

static unsigned random_number()
{
	state = state * 1103515245 + 12345;
	return state >> 8;
}

// Parses lines. Each needs a buffer, for a moment.
__attribute__((noinline)) static unsigned parse(int line)
{
	static char *kept;
	size_t size = 200 + line % 1800;
	char *buffer =
		after ? kept ? kept : (kept = static_cast<char *>(malloc(2048))) : static_cast<char *>(malloc(size));
	memset(buffer, line, size);
	unsigned found = static_cast<unsigned char>(buffer[size / 2]);
	if (!after)
		free(buffer);
	return found;
}

static unsigned temporaries()
{
	std::vector<char *> results;
	unsigned sum = 0;
	for (int i = 0; i < 800000; i++) {
		sum += parse(i);
		if (i % 4 == 0) {
			char *result = static_cast<char *>(malloc(40));
			memset(result, 1, 40);
			results.push_back(result);
		}
	}
	return sum + static_cast<unsigned>(results.size());
}

// Reads documents of different lengths into buffers that grow.
__attribute__((noinline)) static char *read_document(size_t length)
{
	size_t room = after ? length : 64;
	char *text = static_cast<char *>(malloc(room));
	for (size_t at = 0; at < length; at += 64) {
		if (at + 64 > room) {
			room = room * 2 < length ? room * 2 : length;
			text = static_cast<char *>(realloc(text, room));
		}
		memset(text + at, 1, at + 64 > length ? length - at : 64);
	}
	return text;
}

static unsigned reserve()
{
	std::vector<char *> documents;
	for (int i = 0; i < 20000; i++) {
		documents.push_back(read_document(64 + random_number() % 6000 / 64 * 64));
		if (i % 3 == 0) {
			char *&any = documents[random_number() % documents.size()];
			free(any);
			any = documents.back();
			documents.pop_back();
		}
	}
	return static_cast<unsigned>(documents.size());
}

struct Node {
	Node *next;
	unsigned value;
	char rest[28];
};

static char *chunk;
static size_t left;
static Node *unused;

__attribute__((noinline)) static Node *make_node(unsigned value)
{
	Node *n;
	if (!after) {
		n = static_cast<Node *>(malloc(sizeof(Node)));
	} else if (unused) {
		n = unused;
		unused = n->next;
	} else {
		if (left < sizeof(Node)) {
			chunk = static_cast<char *>(malloc(left = 64 << 10));
		}
		n = reinterpret_cast<Node *>(chunk);
		chunk += sizeof(Node);
		left -= sizeof(Node);
	}
	n->value = value;
	return n;
}

static void drop_node(Node *n)
{
	if (!after)
		return free(n);
	n->next = unused;
	unused = n;
}

// Keeps lists of nodes, and texts of other sizes between them.
static unsigned pool()
{
	std::vector<Node *> lists(1000);
	std::vector<char *> texts;
	for (int i = 0; i < 600000; i++) {
		Node *&list = lists[random_number() % lists.size()];
		if (list && random_number() % 3 == 0) {
			Node *n = list;
			list = n->next;
			drop_node(n);
		} else {
			Node *n = make_node(static_cast<unsigned>(i));
			n->next = list;
			list = n;
		}
		if (i % 8 == 0) {
			char *text = static_cast<char *>(malloc(100));
			memset(text, 1, 100);
			texts.push_back(text);
		}
	}
	return static_cast<unsigned>(texts.size());
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	after = strcmp(argv[2], "after") == 0;
	unsigned result = strcmp(argv[1], "temporaries") == 0 ? temporaries()
			  : strcmp(argv[1], "reserve") == 0   ? reserve()
							      : pool();
	printf("%u\n", result);
}

// A server of a shop: twelve endpoints, four workers, sessions, a cache and a log. One function keeps what it should
// not. Given a number of requests, too, it serves them evenly in that time, and reads its articles again in the middle.
#include <list>
#include <mutex>

#include "story.h"

#define OUTLINE __attribute__((noinline))

static int chosen; // which function does not give back
static const char *answer_function;
static std::atomic<int> answer_line;

static int most; // requests; 0: for a time
static std::atomic<int> served;
static int sparse = 1; // of so many requests that could leak, one does: a long run leaks as much as a short one

#define KEEPS(number, function) \
	(chosen == (number) && served % sparse == 0 && (answer_function = (function), answer_line = __LINE__ + 1, true))

struct Request {
	int endpoint, number;
	std::map<std::string, std::string> headers;
	std::string body;
};

struct Session {
	std::string user;
	std::vector<int> basket;
	char *note = nullptr;
};

struct Order {
	int number;
	char text[600];
};

struct Price {
	double net, gross;
	char history[440];
};

static std::mutex cache_lock;
static std::map<int, std::string> cache;

OUTLINE std::string read_body(const Request &r)
{
	return std::string(200 + r.number % 700, 'b');
}

OUTLINE void parse_headers(Request &r)
{
	for (int i = 0; i < 6; i++)
		r.headers["header-of-the-request-" + std::to_string(i)] =
			"value-of-this-header-" + std::to_string(r.number);
}

OUTLINE std::vector<std::string> query_rows(int n)
{
	std::vector<std::string> rows;
	for (int i = 0; i < n; i++)
		rows.push_back("row " + std::string(40 + i, 'r'));
	return rows;
}

OUTLINE std::string render_json(const std::vector<std::string> &rows)
{
	std::string out = "[";
	for (const auto &row : rows)
		out += "{\"row\": \"" + row + "\"},";
	return out + "]";
}

OUTLINE std::string render_page(const std::string &body)
{
	auto frame = std::make_unique<char[]>(4096);
	snprintf(frame.get(), 4096, "<main>%s</main>", body.c_str());
	return frame.get();
}

OUTLINE void log_access(const Request &r)
{
	std::string line = "GET /endpoint/" + std::to_string(r.endpoint) + " for request " + std::to_string(r.number);
	static std::mutex lock;
	static std::list<std::string> last;
	std::lock_guard hold(lock);
	last.push_back(line);
	if (last.size() > 500)
		last.pop_front();
}

OUTLINE const std::string remember(int key)
{
	std::lock_guard hold(cache_lock);
	if (cache.size() > 400)
		cache.erase(cache.begin());
	auto &entry = cache[key % 1000];
	if (entry.empty())
		entry = std::string(3000, 'c');
	return entry.substr(0, 100);
}

OUTLINE std::unique_ptr<Session> open_session(const Request &r)
{
	auto s = std::make_unique<Session>();
	s->user = "user number " + std::to_string(r.number % 5000) + " of the shop";
	for (int i = 0; i < 8; i++)
		s->basket.push_back(i);
	return s;
}

OUTLINE void attach_note(Session &s, const Request &r)
{
	bool keeps = r.number % 3 == 0 && KEEPS(0, "attach_note");
	s.note = new char[512];
	strcpy(s.note, "a note");
	used(s.note);
	if (!keeps)
		delete[] s.note;
}

OUTLINE double price_of(int article)
{
	bool keeps = article % 2 == 0 && KEEPS(1, "price_of");
	Price *p = new Price{1.0 * article, 1.2 * article, {}};
	used(p);
	double gross = p->gross;
	if (!keeps)
		delete p;
	return gross;
}

OUTLINE void submit(const Request &r)
{
	bool keeps = r.number % 2 == 0 && KEEPS(2, "submit");
	Order *o = new Order{r.number, "an order"};
	used(o);
	if (!keeps)
		delete o;
}

OUTLINE void resize_picture(int number)
{
	bool keeps = number % 8 == 0 && KEEPS(3, "resize_picture");
	char *pixels = static_cast<char *>(malloc(3000 + number % 512));
	memset(pixels, number, 3000);
	used(pixels);
	if (!keeps)
		free(pixels);
}

static void common(Request &r)
{
	parse_headers(r);
	r.body = read_body(r);
	log_access(r);
}

OUTLINE std::string list_articles(Request &r)
{
	common(r);
	return render_page(render_json(query_rows(30)));
}

OUTLINE std::string show_article(Request &r)
{
	common(r);
	resize_picture(r.number);
	remember(r.number);
	return render_page(render_json(query_rows(3)));
}

OUTLINE std::string search(Request &r)
{
	common(r);
	remember(r.number * 7);
	return render_json(query_rows(15));
}

OUTLINE std::string login(Request &r)
{
	common(r);
	auto s = open_session(r);
	return render_page(s->user);
}

OUTLINE std::string show_basket(Request &r)
{
	common(r);
	auto s = open_session(r);
	attach_note(*s, r);
	return render_json(query_rows(5));
}

OUTLINE std::string add_to_basket(Request &r)
{
	common(r);
	auto s = open_session(r);
	price_of(r.number);
	return render_page(s->user);
}

OUTLINE std::string checkout(Request &r)
{
	common(r);
	auto s = open_session(r);
	submit(r);
	return render_page(render_json(query_rows(8)));
}

OUTLINE std::string show_orders(Request &r)
{
	common(r);
	return render_page(render_json(query_rows(20)));
}

OUTLINE std::string show_help(Request &r)
{
	common(r);
	remember(1);
	return render_page("help");
}

OUTLINE std::string show_profile(Request &r)
{
	common(r);
	auto s = open_session(r);
	remember(r.number * 3);
	return render_page(render_json(query_rows(2)) + s->user);
}

OUTLINE std::string write_review(Request &r)
{
	common(r);
	auto s = open_session(r);
	return render_page(render_json(query_rows(4)) + read_body(r));
}

OUTLINE std::string health(Request &r)
{
	log_access(r);
	return "well";
}

static std::string (*const endpoints[])(Request &) = {list_articles, show_article,  search,	  login,
						      show_basket,   add_to_basket, checkout,	  show_orders,
						      show_help,     show_profile,  write_review, health};

OUTLINE void serve(int endpoint, int number)
{
	Request r{endpoint, number, {}, {}};
	std::string reply = endpoints[endpoint](r);
	if (reply.empty())
		abort();
}

static void work(int worker, double until)
{
	name_thread("worker-" + std::to_string(worker));
	std::minstd_rand random(worker + 1);
	for (int n = worker; most ? served < most : seconds() < until; n += 4) {
		serve(random() % 12, n);
		served++;
		if (!most && n / 4 % 8 == 0)
			rest(2);
		while (most && served > most * seconds() / until)
			rest(1); // as even as time, and later only on a machine that is too slow
	}
}

struct Article {
	char text[2000];
};

OUTLINE std::vector<std::unique_ptr<Article>> read_articles()
{
	std::vector<std::unique_ptr<Article>> all;
	for (int i = 0; i < 20000; i++) {
		all.push_back(std::make_unique<Article>());
		while (served < most / 2 + i * (most / 10 / 20000))
			rest(1);
	}
	return all;
}

// reload has the articles in memory while a fifth of the requests are served.
static void reload()
{
	name_thread("reloader");
	while (served < most / 2)
		rest(1);
	auto articles = read_articles();
	while (served < most / 10 * 7)
		rest(1);
}

int main(int argc, char **argv)
{
	chosen = argc > 1 ? atoi(argv[1]) % 4 : 0;
	double until = argc > 2 ? atof(argv[2]) : 5;
	most = argc > 3 ? atoi(argv[3]) : 0;
	sparse = std::max(1, most / 84000);
	std::vector<std::thread> workers;
	for (int i = 0; i < 4; i++)
		workers.emplace_back(work, i, until);
	if (most)
		workers.emplace_back(reload);
	for (auto &w : workers)
		w.join();
	cache.clear();
	printf("leak %s server.cc:%d\n", answer_function, answer_line.load());
	if (most)
		printf("rise read_articles reloader\npeak read_articles\n");
}

// A program with what makes symbols hard: templates, inlining, lambdas, local classes, constructors, virtual
// functions, statics in anonymous namespaces, overloads.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace geometry
{
struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual std::string name() const
	{
		return "shape";
	}
};

class Square : public Shape
{
	double side;

      public:
	explicit Square(double s) : side(s)
	{
		if (s < 0)
			side = -s;
	}
	double area() const override
	{
		return side * side;
	}
	std::string name() const override
	{
		return "square of " + std::to_string(side);
	}
};

template <typename T, int N> class Ring
{
	T items[N];
	int at = 0;

      public:
	void push(T t)
	{
		items[at++ % N] = std::move(t);
	}
	template <typename F> void each(F f)
	{
		for (auto &i : items)
			f(i);
	}
};
} // namespace geometry

namespace
{
int counter;

__attribute__((noinline)) int hidden(int n)
{
	auto step = [n](int x) {
		counter += x * n;
		return counter;
	};
	return step(3) + step(4);
}
} // namespace

static inline std::vector<int> numbers(int n)
{
	std::vector<int> v;
	for (int i = 0; i < n; i++)
		v.push_back((i * 7919) % 1009);
	return v;
}

__attribute__((noinline)) int overload(int a)
{
	struct Local {
		int twice(int x)
		{
			return 2 * x + counter;
		}
	} l;
	return l.twice(a);
}

__attribute__((noinline)) int overload(const std::string &s)
{
	std::map<std::string, std::vector<int>> m;
	for (auto c : s)
		m[std::string(3, c)].push_back(c);
	int sum = 0;
	for (auto &[k, v] : m)
		sum += (int)k.size() + std::accumulate(v.begin(), v.end(), 0);
	return sum;
}

extern "C" int plain_c(int x)
{
	return hidden(x) + overload(x);
}

int main(int argc, char **)
{
	auto v = numbers(100 + argc);
	std::sort(v.begin(), v.end(), [](int a, int b) { return a % 10 < b % 10; });
	std::stable_sort(v.begin(), v.end());
	std::unordered_map<std::string, std::unique_ptr<geometry::Shape>> shapes;
	for (int i : v)
		shapes[std::to_string(i)] = std::make_unique<geometry::Square>(i);
	std::set<std::string> names;
	double total = 0;
	for (auto &[k, s] : shapes) {
		total += s->area();
		names.insert(s->name());
	}
	geometry::Ring<std::function<int(int)>, 4> ring;
	for (int i = 0; i < 9; i++)
		ring.push([i, &v](int x) { return x + i + v[i]; });
	ring.each([&](auto &f) { total += f(1); });
	std::printf("%zu %f %d\n", names.size(), total, plain_c(argc) + overload("some text"));
}

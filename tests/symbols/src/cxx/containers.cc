// Virtual bases and their thunks, closures in closures, local classes, exceptions in cold parts, visitors, algorithms.
#include <algorithm>
#include <functional>
#include <list>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <variant>
#include "parts.h"

namespace parts
{
namespace
{
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};
struct named : virtual shape {
	std::string name = "named";
	virtual std::string label() const
	{
		return name;
	}
};
struct coloured : virtual shape {
	int colour = 3;
	virtual int mix(int with)
	{
		return colour ^ with;
	}
};
struct square final : named, coloured {
	double side;
	explicit square(double s) : side(s)
	{
		if (s < 0)
			throw std::invalid_argument("side " + std::to_string(s));
	}
	double area() const override
	{
		return side * side;
	}
	std::string label() const override
	{
		return "square " + named::label();
	}
	int mix(int with) override
	{
		return coloured::mix(with) + 1;
	}
};

template <class... F> struct overloaded : F... {
	using F::operator()...;
};
template <class... F> overloaded(F...) -> overloaded<F...>;

using value = std::variant<int, double, std::string, std::vector<int>>;

std::string show(const value &v)
{
	return std::visit(overloaded{[](int i) { return std::to_string(i); },
				     [](double d) { return std::to_string(d); },
				     [](const std::string &s) { return s + "!"; },
				     [](const std::vector<int> &l) {
					     auto add = [](int a, int b) {
						     auto twice = [b](int x) { return x + 2 * b; };
						     return twice(a);
					     };
					     return std::to_string(std::accumulate(l.begin(), l.end(), 0, add));
				     }},
			  v);
}

template <class K> size_t fill(int n, std::function<K(int)> key)
{
	struct count {
		size_t n = 0;
		void operator()(const K &)
		{
			n++;
		}
	};
	std::map<K, std::vector<int>> ordered;
	std::unordered_map<K, std::optional<int>> hashed;
	std::set<K, std::greater<K>> backwards;
	for (int i = 0; i < n; i++) {
		ordered[key(i % 5)].push_back(i);
		hashed.emplace(key(i), i % 2 ? std::optional<int>(i) : std::nullopt);
		backwards.insert(key(-i));
	}
	count c;
	for (auto &[k, list] : ordered) {
		std::sort(list.begin(), list.end(), [](int a, int b) { return a % 7 < b % 7; });
		std::stable_sort(list.begin(), list.end(), std::greater<int>());
		c(k);
	}
	std::for_each(backwards.begin(), backwards.end(), std::ref(c));
	return c.n + hashed.size() + size_t(nest<double, 6>::sum({1.0, double(n)}, 0.5));
}
} // namespace
} // namespace parts

std::string parts::containers(int n)
{
	std::string s;
	try {
		std::list<std::unique_ptr<shape>> shapes;
		for (int i = n; i > -2; i--)
			shapes.push_back(std::make_unique<square>(i));
	} catch (const std::invalid_argument &e) {
		s = e.what();
	}
	square q(n);
	coloured &c = q;
	named &m = q;
	shape &b = q;
	s += m.label() + std::to_string(c.mix(n)) + std::to_string(b.area());
	s += show(n) + show(1.5) + show(s) + show(std::vector<int>{1, 2, n});
	size_t total = fill<int>(n, [](int i) { return i; });
	total += fill<std::string>(n, [&s](int i) { return s + std::to_string(i); });
	total += fill<long double>(n, [](int i) { return i / 2.0L; });
	total += fill<char>(n, [](int i) { return char(i); });
	return s + std::to_string(total);
}

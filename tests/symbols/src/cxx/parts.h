// What the units of the program share: inline functions and templates that every unit instantiates anew.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace parts
{
std::string expressions(const std::string &text);
std::string documents(int n);
std::string sentences(int n);
std::string containers(int n);

inline int clamp(int low, int v, int high)
{
	return v < low ? low : v > high ? high : v;
}

template <class T, int Depth> struct nest {
	static T sum(const std::vector<T> &v, T start)
	{
		T s = nest<T, Depth - 1>::sum(v, start);
		for (const T &x : v)
			s += x;
		return s;
	}
};

template <class T> struct nest<T, 0> {
	static T sum(const std::vector<T> &v, T start)
	{
		return v.empty() ? start : v.front();
	}
};

template <class T> struct ring {
	explicit ring(size_t n) : slots(n)
	{
	}
	void put(T v)
	{
		slots.at(next++ % slots.size()) = std::move(v);
	}
	template <class F> void each(F f) const
	{
		for (const T &s : slots)
			f(s);
	}
	std::vector<T> slots;
	size_t next = 0;
};
} // namespace parts

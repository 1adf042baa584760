#define FMT_HEADER_ONLY
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include "parts.h"

namespace
{
enum class color { red, green };
}

template <> struct fmt::formatter<color> : fmt::formatter<std::string> {
	template <class Context> auto format(color c, Context &ctx)
	{
		return formatter<std::string>::format(c == color::red ? "red" : "green", ctx);
	}
};

std::string parts::sentences(int n)
{
	std::map<std::string, std::vector<int>> lists{{"a", {1, 2, n}}, {"b", {}}};
	std::string s = fmt::format("{:>10} {:#x} {:.3f} {:+d}", "right", n, n / 3.0, n);
	s += fmt::format("{} {}", lists, color::green);
	s += fmt::format("{:%H:%M:%S}", std::chrono::seconds(n));
	s += fmt::format("{:{}}", s.size(), clamp(1, n, 30));
	fmt::memory_buffer b;
	fmt::format_to(std::back_inserter(b), "{:e} {:a} {}", 1.0L * n, 2.5f, std::make_tuple(n, 'c', true));
	return s + fmt::to_string(b);
}

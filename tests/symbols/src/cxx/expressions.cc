#include <iomanip>
#include <regex>
#include <sstream>
#include "parts.h"

namespace
{
// One function of this name in each of two units: names are not enough to tell them apart.
std::string join(const std::vector<std::string> &list)
{
	std::ostringstream out;
	for (const auto &s : list)
		out << std::quoted(s) << ' ';
	return out.str();
}

template <class Ch> size_t count(const std::basic_string<Ch> &text, const Ch *pattern)
{
	std::basic_regex<Ch> e(pattern, std::regex::ECMAScript | std::regex::icase);
	using walk = std::regex_iterator<typename std::basic_string<Ch>::const_iterator>;
	return std::distance(walk(text.begin(), text.end(), e), walk());
}
} // namespace

std::string parts::expressions(const std::string &text)
{
	static const std::regex pair(R"((\w+)\s*=\s*([^;,]+))");
	std::vector<std::string> found;
	for (std::sregex_iterator i(text.begin(), text.end(), pair), end; i != end; ++i)
		found.push_back((*i)[1].str() + ":" + (*i)[2].str());
	size_t n =
		count<char>(text, "[a-f]+(x|y)?") + count<wchar_t>(std::wstring(text.begin(), text.end()), L"\\d{1,3}");
	ring<std::string> r(5);
	for (auto &s : found)
		r.put(s);
	r.each([&](const std::string &s) { n += nest<size_t, 4>::sum({s.size(), 1}, 2); });
	return join(found) + std::regex_replace(text, pair, "$2=$1") + std::to_string(clamp(0, int(n), 99));
}

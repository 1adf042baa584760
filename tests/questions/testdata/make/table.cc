// The hungriest of the three: regular expressions are many templates.
#include <map>
#include <regex>
#include <string>

bool table(const std::string &s)
{
	return std::regex_match(s, std::regex("(a|b)*c"));
}

// SPDX-License-Identifier: Apache-2.0
//
// heavy.cc: input for a compiler that is being recorded; never run.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct Shape {
	std::map<std::string, std::vector<std::variant<int, double, std::string>>> table;
	std::function<int(int)> f = [](int i) { return i + N; };
	int run(const std::string &text)
	{
		std::regex words("(\\w+)\\s*=\\s*(\\d+)");
		std::smatch m;
		int sum = 0;
		for (auto it = text.cbegin(); std::regex_search(it, text.cend(), m, words); it = m.suffix().first)
			table[m[1]].push_back(sum += f(std::stoi(m[2])));
		std::set<int> sorted;
		for (auto &[name, values] : table)
			for (auto &v : values)
				if (auto *i = std::get_if<int>(&v))
					sorted.insert(*i);
		return std::accumulate(sorted.begin(), sorted.end(), 0);
	}
};

int main(int argc, char **argv)
{
	std::ostringstream out;
	std::unordered_map<std::string, std::shared_ptr<Shape<1>>> all;
	for (int i = 0; i < argc; i++)
		all[argv[i]] = std::make_shared<Shape<1>>();
	for (auto &[name, shape] : all)
		out << name << ' ' << shape->run(name) << ' ' << Shape<2>().run(name) << ' ' << Shape<3>().run(name)
		    << '\n';
	std::cout << out.str();
}

#include <nlohmann/json.hpp>
#include "parts.h"

using nlohmann::json;

namespace
{
struct point {
	int x, y;
	std::vector<double> weights;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(point, x, y, weights)

std::string join(const std::vector<json> &list)
{
	std::string s;
	for (const auto &j : list)
		s += j.dump(parts::clamp(0, int(list.size()), 4));
	return s;
}
} // namespace

std::string parts::documents(int n)
{
	std::vector<json> list;
	for (int i = 0; i < n; i++) {
		json j = point{i, -i, {0.5, double(i)}};
		j["nested"] = {{"list", {1, 2.5, nullptr, "text"}}, {"map", std::map<std::string, int>{{"a", i}}}};
		try {
			list.push_back(json::parse(j.dump()));
			list.push_back(json::from_cbor(json::to_cbor(j)));
			list.push_back(json::from_msgpack(json::to_msgpack(j)).patch(json::diff(j, list.front())));
			list.back().at("/nested/list/9"_json_pointer) = j.get<point>().y;
		} catch (const json::exception &e) {
			list.push_back(e.what());
		}
	}
	return join(list);
}

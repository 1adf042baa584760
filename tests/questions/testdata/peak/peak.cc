// Reads a table and prints its middle. At the peak, an index has COPIES of all rows.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct Row {
	std::string name;
	std::vector<int> values;
};

using Table = std::vector<Row>;

static Table load(int rows)
{
	Table table;
	for (int i = 0; i < rows; i++) {
		Row row{"customer with a long name, number " + std::to_string((i * 7919L) % rows), {}};
		for (int v = 0; v < 20; v++)
			row.values.push_back(i * v);
		table.push_back(std::move(row));
	}
	return table;
}

// The peak: an index has COPIES of each row.
static std::string middle(const Table &table)
{
	std::map<std::string, std::vector<std::vector<int>>> index;
	for (const Row &row : table)
		for (int copy = 0; copy < COPIES; copy++)
			index[row.name].push_back(row.values);
	return std::next(index.begin(), index.size() / 2)->first;
}

int main()
{
	Table table = load(5000);
	std::string name = middle(table);
	table.clear();
	table.shrink_to_fit();
	printf("%s\n", name.c_str());
	return 0;
}

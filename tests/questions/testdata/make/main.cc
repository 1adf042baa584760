#include <string>

bool table(const std::string &s);
std::string words();

int main()
{
	return table(words());
}

#include <string>

std::string words()
{
	return "words";
}

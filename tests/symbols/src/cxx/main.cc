#include <cstdio>
#include "parts.h"

int main(int argc, char **)
{
	std::string s = parts::expressions("key=value; other = 17, third=x\ty");
	s += parts::documents(argc);
	s += parts::sentences(argc);
	s += parts::containers(argc + 20);
	std::printf("%zu %d\n", s.size(), parts::clamp(1, argc, 9));
}

// What the programs of the stories share. Each takes a number, by which one of several functions does what the story
// is about, and prints the answer at its end.
#pragma once
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

inline double seconds()
{
	static const auto begin = std::chrono::steady_clock::now();
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

inline void rest(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

inline void name_thread(const std::string &name)
{
	pthread_setname_np(pthread_self(), name.c_str());
}

// used keeps the compiler from leaving an allocation out.
inline void used(void *p)
{
	asm volatile("" : : "r"(p) : "memory");
}

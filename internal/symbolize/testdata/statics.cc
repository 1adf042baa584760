// Static and thread-local variables of all kinds. The tests compare them with what nm says; of those that are marked
// with their name, the line is the mark's; clang tells of some only where they are declared.
#include <stdlib.h>

namespace deep
{
char big[512 << 20]; // deep::big
struct S {
	static int table[1000]; // clang: deep::S::table
};
int S::table[1000] = {1}; // deep::S::table
} // namespace deep

thread_local char tls_big[1 << 20]; // tls_big
thread_local int tls_data[500] = {1, 2}; // tls_data
static thread_local long tls_own[300]; // tls_own
extern const double constants[400];
const double constants[400] = {1}; // constants
static int hidden[3000]; // hidden
namespace
{
short nameless[5000]; // (anonymous namespace)::nameless
} // namespace

template <class T> struct Box {
	static T pool[2048]; // clang: Box<int>::pool
};
template <class T> T Box<T>::pool[2048]; // Box<int>::pool
inline long shared_inline[512]; // shared_inline
extern char alias_of[2048] __attribute__((alias("aliased")));
extern "C" {
char aliased[2048] = {3}; // aliased
}

int *f(int i)
{
	static int counts[700]; // f(int)::counts
	static thread_local char scratch[1500]; // f(int)::scratch
	scratch[i] = 1;
	return &counts[(i + scratch[3]) % 700];
}

int main(int argc, char **)
{
	hidden[argc] = 1;
	nameless[argc] = 2;
	Box<int>::pool[argc] = 2;
	shared_inline[argc] = 1;
	deep::big[argc] = 1;
	tls_big[argc] = tls_own[argc] = 1;
	return *f(argc) + (int)constants[argc] + hidden[argc & 7] + deep::S::table[argc] + tls_data[argc] +
	       aliased[argc] + nameless[7] + (int)tls_own[5];
}

// An arena that says what is in it: each parsed line is shown, and not one large block. `heaptap run ./pool`.
#include <cstdio>
#include <cstdlib>
#include <new>

#include <heaptap/heaptap.hpp>

// Gives out memory from one chunk, and takes all of it back at once.
class arena
{
      public:
	arena(const char *name, std::size_t size)
	    : pool_(name), chunk_(static_cast<char *>(pool_.grow([&] { return std::malloc(size); }))), size_(size)
	{
		if (!chunk_)
			throw std::bad_alloc();
	}
	~arena()
	{
		pool_.clear();
		std::free(chunk_);
	}
	arena(const arena &) = delete;
	arena &operator=(const arena &) = delete;

	void *take(std::size_t size)
	{
		void *p = used_ + size <= size_ ? chunk_ + used_ : nullptr;
		pool_.allocated(p, size); // if it is null: a failed one
		if (p)
			used_ += size;
		return p;
	}
	void reset()
	{
		pool_.clear(); // before the bytes are given out again
		used_ = 0;
	}

      private:
	heaptap::pool pool_;
	char *chunk_;
	std::size_t size_, used_ = 0;
};

static int parse(arena &a, int line)
{
	int taken = 0;
	for (int word = 0; word < 10; word++)
		taken += a.take(16 + static_cast<std::size_t>(line % 3)) != nullptr;
	return taken;
}

int main()
{
	arena words("words", 1 << 20);
	int taken = 0;
	for (int line = 0; line < 300; line++) {
		taken += parse(words, line);
		if (line == 199)
			words.reset();
	}
	std::printf("%d words\n", taken);

#ifdef __cpp_lib_memory_resource
	// The same for an allocator of the standard library: what it takes is below it, what it gives out above.
	heaptap::pool pool("numbers");
	heaptap::pool_resource below(pool, std::pmr::new_delete_resource(), heaptap::pool_resource::backing);
	std::pmr::monotonic_buffer_resource buffer(&below);
	heaptap::pool_resource numbers(pool, &buffer);
	auto *first = static_cast<int *>(numbers.allocate(100 * sizeof(int), alignof(int)));
	auto *second = static_cast<int *>(numbers.allocate(50 * sizeof(int), alignof(int)));
	first[0] = second[0] = 1;
	numbers.deallocate(second, 50 * sizeof(int), alignof(int));
#endif
}

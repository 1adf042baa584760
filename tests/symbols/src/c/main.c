#include <stdio.h>
#include <zstd.h>

int main(void)
{
	char text[1000] = "text", packed[2000];
	size_t n = ZSTD_compress(packed, sizeof packed, text, sizeof text, 3);
	printf("%zu %zu\n", n, ZSTD_decompress(text, sizeof text, packed, n));
	return 0;
}

// Decodes pictures into one large mapping, and keeps thumbnails on the heap: resident is three times the live bytes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THUMBNAILS = 5000, THUMBNAIL = 4000, FRAMES = 40 << 20 };

static char *thumbnails[THUMBNAILS];

static void make_thumbnails(void)
{
	for (int i = 0; i < THUMBNAILS; i++)
		memset(thumbnails[i] = malloc(THUMBNAIL), i, THUMBNAIL);
}

static char *map_frames(void)
{
	char *frames = mmap(NULL, FRAMES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memset(frames, 1, FRAMES);
}

int main(void)
{
	make_thumbnails();
	map_frames();
	usleep(300000); // the pictures are shown
	printf("ready\n");
	fflush(stdout);
	getchar();
	return 0;
}

// resident.h: the program's own reading of its resident set.
#ifndef RESIDENT_H
#define RESIDENT_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Prints the resident set as the fact "resident", and stays as large for a while, so that it can be seen from outside.
static inline void tell_resident(void)
{
	char text[128] = "";
	unsigned long all, resident = 0;
	int fd = open("/proc/self/statm", O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "%lu %lu", &all, &resident);
	close(fd);
	dprintf(1, "//= resident: bytes %lu\n", resident * (unsigned long)sysconf(_SC_PAGESIZE));
	usleep(500000);
}

#endif

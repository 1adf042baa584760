// SPDX-License-Identifier: Apache-2.0
//
// monitor.h: for libraries that `heaptap run --monitor ./mine.so:key=value` loads into the program. They have one entry
// point:
//
//     #include <heaptap/monitor.h>
//
//     HEAPTAP_MONITOR(options)
//     {
//             ... heaptap_monitor_add(...); options is "key=value", or "" ...
//     }
//
// Include it in one file of the library, in C or C++. The entry point runs once in each program, before main, and only
// under heaptap. Build with: cc -shared -fPIC -I .../include mine.c -o mine.so
#ifndef HEAPTAP_MONITOR_H
#define HEAPTAP_MONITOR_H

#include <stdlib.h>
#include <string.h>

#include "heaptap.h"

#ifdef __cplusplus
extern "C" {
#endif

// Dl_info and dladdr, declared here so that no macro need be defined and no library linked.
struct heaptap_dl_info {
	const char *file;
	void *base;
	const char *symbol;
	void *address;
};
static int heaptap_dladdr(const void *, struct heaptap_dl_info *) __attribute__((weakref("dladdr")));

// Returns the text after the colon of --monitor for the library that this is compiled into; "" if there is none.
static inline const char *heaptap_monitor_options(char *buffer, size_t size)
{
	static const char here = 0; // heaptap_table may be another module's
	struct heaptap_dl_info own = {NULL, NULL, NULL, NULL};
	const char *line = getenv("HEAPTAP_MONITOR_LIBRARIES"); // PATH:OPTIONS, a line for each
	buffer[0] = 0;
	if (!line || !heaptap_dladdr || !heaptap_dladdr(&here, &own) || !own.file)
		return buffer;
	for (size_t n = strlen(own.file); line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, own.file, n) != 0 || line[n] != ':')
			continue;
		n = strcspn(line + n + 1, "\n") < size ? strcspn(line + n + 1, "\n") : size - 1;
		memcpy(buffer, line + strlen(own.file) + 1, n);
		buffer[n] = 0;
		break;
	}
	return buffer;
}

#define HEAPTAP_MONITOR(options) \
	static void heaptap_monitor_entry(const char *options); \
	__attribute__((constructor)) static void heaptap_monitor_begin(void) \
	{ \
		char buffer[4096]; \
		heaptap_look(); \
		if (heaptap_loaded()) \
			heaptap_monitor_entry(heaptap_monitor_options(buffer, sizeof(buffer))); \
	} \
	static void heaptap_monitor_entry(const char *options)

#ifdef __cplusplus
}
#endif

#endif

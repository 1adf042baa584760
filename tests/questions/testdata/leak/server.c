// A server that answers 5,000 requests in a second. One in a hundred is refused, and its session is forgotten then.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
	char *user;
	char *answer;
};

static char *render(const char *user)
{
	char *page = malloc(600);
	snprintf(page, 600, "<p>Hello %s", user);
	return page;
}

static struct session *open_session(const char *user)
{
	struct session *s = malloc(sizeof *s);
	s->user = strdup(user);
	s->answer = render(user);
	return s;
}

static void close_session(struct session *s)
{
	free(s->user);
	free(s->answer);
	free(s);
}

static int handle(int request)
{
	char user[40];
	snprintf(user, sizeof user, "user %d", request);
	struct session *s = open_session(user);
	if (request % 100 == 99)
		return 403; // the leak
	close_session(s);
	return 200;
}

int main(void)
{
	int refused = 0;
	for (int request = 0; request < 5000; request++) {
		refused += handle(request) == 403;
		usleep(200);
	}
	printf("%d refused\n", refused);
	return 0;
}

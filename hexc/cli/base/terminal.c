/* terminal.c - writes output that only a terminal gets: colours, and progress of long operations. */
#include "hexc/cli/base/cli.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Is standard error a terminal with colours, and are they wanted (no-color.org)? */
static bool
is_colourful(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

const char *
cli_severity(CliSeverity s)
{
	static const struct {
		const char *plain, *coloured;
	} word[] = {
		[CLI_NOTE] = { "note", "\033[1;36mnote\033[0m" },
		[CLI_WARNING] = { "warning", "\033[1;35mwarning\033[0m" },
		[CLI_ERROR] = { "error", "\033[1;31merror\033[0m" },
		[CLI_REMARK] = { "remark", "\033[1;34mremark\033[0m" },
		[CLI_FAULT] = { "fault", "\033[1;31mfault\033[0m" },
	};

	return is_colourful() ? word[s].coloured : word[s].plain;
}

bool
cli_nobody_reads(void)
{
	struct pollfd out = { STDOUT_FILENO, 0, 0 };

	return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

/* ---- progress --------------------------------------------------------------------------------- */

enum { PATIENCE_MS = 1000, PERIOD_MS = 250 };

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
cli_progress_start(CliProgress *p, const char *what)
{
	p->what = what;
	p->start = now_ms();
	atomic_init(&p->next, p->start + PATIENCE_MS);
	p->terminal = isatty(STDERR_FILENO);
}

/* If several threads call it when a print is due, one prints. */
int
cli_progress(void *user)
{
	CliProgress *p = user;
	int64_t now, next;

	if (!p->terminal)
		return 0;
	now = now_ms();
	next = atomic_load(&p->next);
	if (now >= next && atomic_compare_exchange_strong(&p->next, &next, now + PERIOD_MS))
		fprintf(stderr, "\r\033[K%s: %lld s", p->what, (long long)((now - p->start) / 1000));
	return 0;
}

void
cli_progress_end(CliProgress *p)
{
	if (p->terminal && atomic_load(&p->next) > p->start + PATIENCE_MS)
		fputs("\r\033[K", stderr);
	p->terminal = false;
}

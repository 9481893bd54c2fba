/* messages.h - the list of error messages about a PTX text, by line. */
#ifndef SIM_MESSAGES_H
#define SIM_MESSAGES_H
#include "lib/sim/base/sim_base.h"

typedef struct Message {
	u32 line;
	char *text;
} Message;
typedef struct Messages {
	Message *v;
	u32 n, cap;
} Messages;

/* Adds a message, truncated to 400 bytes, as one line of ASCII; drops it when out of memory. */
void messages_add(Messages *m, u32 line, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);
void messages_sort(Messages *m);        /* by line */
void messages_clear(Messages *m);
void messages_free(Messages *m);
#endif

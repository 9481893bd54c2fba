/* json_writer.h - JSON without white space, written to a Text member by member. */
#ifndef HEXC_JSON_WRITER_H
#define HEXC_JSON_WRITER_H
#include "taskmap/support/support.h"

/* Bytes of the UTF-8 character at s (RFC 3629: no surrogates, none in more bytes than it takes); 0: it is
 * none. */
size_t utf8_bytes(const char *s);
/* Bytes that are no UTF-8 become U+FFFD: JSON has no others, and names of files do. */
void json_string(Text *t, const char *s);
/* Of an object: the name of the member whose value comes next. */
void json_key(Text *t, const char *name);
/* Whole members. */
void json_text(Text *t, const char *name, const char *s);
void json_number(Text *t, const char *name, int64_t x);
void json_decimal(Text *t, const char *name, double x); /* with one digit behind the point */
/* The opening bracket of an object or array, a member (NULL: an element of an array); text_add closes it. */
void json_open(Text *t, const char *name, const char *bracket);
#endif

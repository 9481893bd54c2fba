/* json_writer.h - writes JSON without white space to a Text, member by member. */
#ifndef HEXC_JSON_WRITER_H
#define HEXC_JSON_WRITER_H
#include "taskmap/support/support.h"

/* Returns the bytes of the UTF-8 character at s (RFC 3629: no surrogates, no overlong forms); 0: invalid. */
size_t utf8_bytes(const char *s);
/* Writes a string; bytes that are not UTF-8 become U+FFFD, since JSON permits none but file names contain
 * them. */
void json_string(Text *t, const char *s);
/* Writes the name of an object's member; its value follows. */
void json_key(Text *t, const char *name);
/* Write whole members. */
void json_text(Text *t, const char *name, const char *s);
void json_number(Text *t, const char *name, int64_t x);
void json_decimal(Text *t, const char *name, double x); /* with one decimal digit */
/* Writes the opening bracket of an object or array as a member (name NULL: as an element of an array);
 * text_add closes it. */
void json_open(Text *t, const char *name, const char *bracket);
#endif

/* json.h - JSON in: headers of files, which may be hostile. */
#ifndef HEXC_BASE_JSON_H
#define HEXC_BASE_JSON_H
#include "taskmap/support/support.h"

typedef enum JsonKind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
} JsonKind;

typedef struct Json Json;
struct Json {
	JsonKind kind;
	const char *key;   /* of a member of an object */
	const char *text;  /* of a string */
	double number;
	bool is_u64;      /* the number is written as digits alone and fits uint64_t: it is u64 */
	uint64_t u64;
	const Json *first; /* of an array or object, in the order of the text */
	const Json *next;  /* beside it */
	size_t n;          /* elements, members */
};

enum { JSON_DEPTH = 200 }; /* of arrays and objects in each other */

/* n bytes of RFC 8259, with blanks around; strings of any bytes, but none with a NUL.  In the arena, which
 * must be protected, under the locale "C" for numbers.  NULL: it is no such text, or deeper than
 * JSON_DEPTH. */
const Json *json_read(Arena *a, const char *text, size_t n);
/* The first member of that name; NULL: there is none, or it is no object. */
const Json *json_member(const Json *object, const char *key);
#endif

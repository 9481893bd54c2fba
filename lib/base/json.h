/* json.h - declares a JSON parser for headers of untrusted files. */
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
	const char *key;   /* name of an object member */
	const char *text;  /* value of a string */
	double number;
	bool is_u64;      /* the number is an unsigned integer literal that fits uint64_t; u64 is its
	                   * value */
	uint64_t u64;
	const Json *first; /* elements or members, in the order of the text */
	const Json *next;  /* sibling */
	size_t n;          /* elements, members */
};

enum { JSON_DEPTH = 200 }; /* maximum nesting of arrays and objects */

/* Parses n bytes of RFC 8259, surrounded by white space; strings may have any bytes except NUL. Allocates
 * in the arena, which must be protected; requires the locale "C" for numbers. Returns NULL if the text is
 * invalid, or nested deeper than JSON_DEPTH. */
const Json *json_read(Arena *a, const char *text, size_t n);
/* Returns the first member with that name; NULL if there is none, or `object` is no object. */
const Json *json_member(const Json *object, const char *key);
#endif

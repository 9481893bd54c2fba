/* util_layout.h - layouts that tests write as text. */
#ifndef TEST_UTIL_LAYOUT_H
#define TEST_UTIL_LAYOUT_H
#include "taskmap/layout.h"

/* Fails the test when the text is none, and says where. */
Layout layout_of(const char *text);
#endif

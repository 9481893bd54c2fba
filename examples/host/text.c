/* text.c - decodes and encodes characters of UTF-8. */
#include "examples/host/host.h"

uint32_t
host_char(const char **s)
{
	const unsigned char *p = (const unsigned char *)*s;
	int more = *p < 0x80 ? 0 : *p >> 5 == 6 ? 1 : *p >> 4 == 14 ? 2 : *p >> 3 == 30 ? 3 : -1;
	uint32_t c = more <= 0 ? *p : *p & (0x3fu >> more);

	for (int i = 1; i <= more; i++) {
		if (p[i] >> 6 != 2) {
			more = -1;
			break;
		}
		c = c << 6 | (p[i] & 0x3f);
	}
	*s += more < 0 ? 1 : more + 1;
	return more < 0 ? 0xFFFD : c;
}

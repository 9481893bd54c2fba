/* special_register.c - finds special registers by name. */
#include <stdio.h>
#include <string.h>
#include "lib/sim/ptx/special_register.h"

/* %envreg0-31, %pm0-7 and %pm0_64-7_64: read as zero. */
static bool
zeros(const char *s, size_t n, u32 *out)
{
	char name[16];
	u32 k, len = 0;

	for (k = 0; k < 48; k++) {
		if (k < 32)
			len = (u32)snprintf(name, sizeof name, "%%envreg%u", k);
		else
			len = (u32)snprintf(name, sizeof name, k < 40 ? "%%pm%u" : "%%pm%u_64", k % 8);
		if (len == n && !memcmp(name, s, n)) {
			*out = S_COUNT;
			return true;
		}
	}
	return false;
}

bool
sreg_find(const char *s, size_t n, u32 *out)
{
	static const char *const names[] = {
#define X(id, name) name,
		SREGS(X)
#undef X
	};

	for (u32 i = 0; i < S_COUNT; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], s, n)) {
			*out = i;
			return true;
		}
	return zeros(s, n, out);
}

bool
sreg_is_system_smem(u32 sreg)
{
	return sreg >= S_sys0 && sreg <= S_sys4;
}

bool
sreg_is_pred(u32 sreg)
{
	return sreg == S_expl;
}

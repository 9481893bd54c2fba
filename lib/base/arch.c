/* arch.c - decides which devices run code for which arch, from the CUDA C Programming Guide, "Compute
 * Capability", "Binary Compatibility" and "PTX Compatibility". */
#include "lib/base/base.h"
#include <stdlib.h>
#include <string.h>

bool
arch_runs(uint32_t capability, const char *arch, uint32_t *sm)
{
	char *end;

	*sm = 0;
	if (strncmp(arch, "sm_", 3) != 0)
		return false;
	*sm = (uint32_t)strtoul(arch + 3, &end, 10);
	return *end ? *sm == capability : *sm <= capability;
}

bool
arch_runs_cubin(uint32_t capability, const char *arch, uint32_t *sm)
{
	return arch_runs(capability, arch, sm) && *sm / 10 == capability / 10;
}

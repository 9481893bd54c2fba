/* nvml.c - a fake libnvidia-ml.so.1 for scripts/tune: one device, whose clock drops while it is watched, and
 * which reports the throttle reasons FAKE_NVML_REASONS (a number). */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
EXPORT int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);

static int here;

int
nvmlInit_v2(void)
{
	return getenv("FAKE_NVML_REASONS") ? 0 : 9; /* NVML_ERROR_DRIVER_NOT_LOADED */
}

int
nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	*device = &here;
	return index ? 2 : 0; /* NVML_ERROR_INVALID_ARGUMENT */
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	*device = &here;
	return *bus ? 0 : 2;
}

int
nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
	static unsigned seen;

	*mhz = seen++ ? 1200 : 1980;
	return device == &here && which == 1 ? 0 : 2; /* NVML_CLOCK_SM */
}

int
nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	*reasons = strtoull(getenv("FAKE_NVML_REASONS"), NULL, 0);
	return device == &here ? 0 : 2;
}

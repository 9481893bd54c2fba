/* registry.c - what ggml asks the shared library for: the list of devices. All GPUs of the driver; with
 * GGML_HEXC_SIMULATOR=80,90 simulated devices of these compute capabilities instead. */
#include "examples/ggml/ggml_hexc.h"
#include <ggml-impl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The devices live as long as the process: ggml keeps pointers to them. */
static struct {
	Device device[DEVICES_MOST];
	int devices;
} all;

static const char *
registry_name(ggml_backend_reg_t reg)
{
	(void)reg;
	return "HEXC";
}

static size_t
registry_count(ggml_backend_reg_t reg)
{
	(void)reg;
	return (size_t)all.devices;
}

static ggml_backend_dev_t
registry_device(ggml_backend_reg_t reg, size_t i)
{
	(void)reg;
	return i < (size_t)all.devices ? &all.device[i].base : NULL;
}

static struct ggml_backend_reg registry = {
	GGML_BACKEND_API_VERSION,
	{ .get_name = registry_name, .get_device_count = registry_count, .get_device = registry_device },
	NULL,
};

static Device *
add_device(int number)
{
	Device *d = &all.device[all.devices];
	const char *offload = getenv("GGML_OP_OFFLOAD_MIN_BATCH");

	d->number = number;
	d->offload = offload ? atoi(offload) : 32;
	snprintf(d->name, sizeof d->name, "HEXC%d", all.devices);
	snprintf(d->host_name, sizeof d->host_name, "HEXC%d_Host", all.devices);
	pthread_mutex_init(&d->lock, NULL);
	d->base = (struct ggml_backend_device){ device_interface, &registry, d };
	d->buffers = (struct ggml_backend_buffer_type){ buffer_type_interface, &d->base, d };
	d->host = (struct ggml_backend_buffer_type){ host_type_interface, &d->base, d };
	all.devices++;
	return d;
}

/* Simulated devices, from a list of compute capabilities. */
static void
add_simulators(const char *list)
{
	while (*list && all.devices < DEVICES_MOST) {
		char *end;
		long capability = strtol(list, &end, 10);

		if (end == list || (*end && *end != ',') || capability < 50 || capability > 999) {
			GGML_LOG_ERROR("GGML_HEXC_SIMULATOR: %s is no list of compute capabilities, such as "
			               "80,90\n", list);
			return;
		}
		add_device(HEXC_SIMULATOR(capability));
		list = *end ? end + 1 : end;
	}
}

/* The GPUs are those that open. */
static void
add_gpus(void)
{
	char why[WHY_MOST];

	while (all.devices < DEVICES_MOST && device_open(add_device(all.devices), why, sizeof why)) {
	}
	if (all.devices && !all.device[all.devices - 1].gpu)
		all.devices--;
	if (!all.devices)
		GGML_LOG_INFO("HEXC: no device: %s\n", why);
	else if (all.devices < DEVICES_MOST)
		GGML_LOG_DEBUG("HEXC: devices %d, not more: %s\n", all.devices, why);
}

static void
find_devices(void)
{
	const char *simulators = getenv("GGML_HEXC_SIMULATOR");

	if (strcmp(ggml_version(), GGML_HEXC_VERSION)) {
		GGML_LOG_ERROR("HEXC: built for ggml %s, and this is ggml %s: build it for this one "
		               "(make ggml GGML=DIR)\n", GGML_HEXC_VERSION, ggml_version());
		return;
	}
	if (simulators && *simulators)
		add_simulators(simulators);
	else
		add_gpus();
}

static ggml_backend_reg_t
init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_devices);
	return &registry;
}

static int
score(void)
{
	init();
	return all.devices ? 1 : 0;
}

GGML_BACKEND_DL_IMPL(init)
GGML_BACKEND_DL_SCORE_IMPL(score)

/* cubin_cache.c - stores the driver's JIT results (PTX to cubin) in a cache, so that the next process
 * skips the JIT compiler. */
#include "lib/cache/cache.h"
#include "lib/gpu/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
hexc_gpu_cache(hexc_gpu *g, hexc_cache *cache)
{
	if (!g)
		return HEXC_E_INVALID;
	g->cache = cache;
	return HEXC_OK;
}

/* Returns a key with everything that the JIT result depends on: device, driver and PTX. The caller frees
 * it. */
static char *
key_bytes(const hexc_gpu_module *gm, size_t *n)
{
	size_t nptx, head;
	const char *ptx = hexc_ptx(gm->m, &nptx);
	char text[80], *key;

	head = (size_t)snprintf(text, sizeof text, "cubin sm_%u driver %u\n", gm->g->info.capability,
	                        gm->g->info.driver);
	key = malloc(head + nptx);
	if (!key)
		return NULL;
	memcpy(key, text, head);
	memcpy(key + head, ptx, nptx);
	*n = head + nptx;
	return key;
}

/* Compiles the PTX in a linker state of the driver, which the caller destroys; returns false on failure. */
static bool
compile(hexc_gpu_module *gm, void **state, void **cubin, size_t *n)
{
	hexc_gpu *g = gm->g;
	size_t nptx;
	const char *ptx = hexc_ptx(gm->m, &nptx);

	*state = NULL;
	return g->cu.cuLinkCreate_v2(0, NULL, NULL, state) == 0 &&
	       g->cu.cuLinkAddData_v2(*state, DRV_CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, nptx + 1, "hexc",
	                              0, NULL, NULL) == 0 &&
	       g->cu.cuLinkComplete(*state, cubin, n) == 0;
}

/* Compiles, stores and loads the cubin. */
static bool
make(hexc_gpu_module *gm, const CacheKey *key)
{
	void *state, *cubin;
	bool made;
	size_t n;

	made = compile(gm, &state, &cubin, &n);
	if (made)
		cache_put(gm->g->cache, key, cubin, n);
	made = made && gpu_load_image(gm->g, cubin, &gm->module) == HEXC_OK;
	if (state)
		gm->g->cu.cuLinkDestroy(state);
	return made;
}

bool
gpu_load_cached(hexc_gpu_module *gm)
{
	hexc_module_info info = HEXC_MODULE_INFO_INIT;
	char label[ENTRY_LABEL_MAX];
	CacheKey key = { .label = label };
	bool loaded = false;
	char *bytes;
	void *cubin;
	size_t n;

	if (!gm->g->cache || !(bytes = key_bytes(gm, &key.n)))
		return false;
	hexc_module_describe(gm->m, &info);
	snprintf(label, sizeof label, "cubin sm_%u %s", gm->g->info.capability, info.file);
	key.data = bytes;
	cubin = cache_get(gm->g->cache, &key, &n);
	if (cubin)
		loaded = gpu_load_image(gm->g, cubin, &gm->module) == HEXC_OK;
	if (!loaded)
		loaded = make(gm, &key);
	free(cubin);
	free(bytes);
	return loaded;
}

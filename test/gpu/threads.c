/* threads.c - a host of the runtime library with eight threads, on the simulator: they read one bundle; half
 * of them launch separate calls of one module on one GPU, the others have a GPU each.
 *
 *	threads BUNDLE LAUNCHES
 *	                status 0: all sums were correct; 1: an error was reported */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/hexc_bundle.h"
#include "lib/hexc_gpu.h"

enum { THREADS = 8, MOST = 3000 };

typedef struct Host {
	const hexc_bundle *bundle;
	hexc_gpu *g;
	hexc_gpu_module *module;
	hexc_call *add;
	void *buffer[3];
	float number[MOST], sum[MOST];
	int nth, launches;
	size_t kernel;
	char why[500];
} Host;

/* The kernel on a GPU of its own. */
static int
find(Host *h)
{
	hexc_want want = HEXC_WANT_INIT;
	const hexc_module *m;
	size_t i;

	want.kernel = "vector_add";
	want.arch = "sm_80";
	return hexc_bundle_find(h->bundle, &want, &i, h->why, sizeof h->why) ||
	       hexc_bundle_module(h->bundle, i, &m, &h->kernel, h->why, sizeof h->why) ||
	       hexc_gpu_open(&h->g, HEXC_SIMULATOR(80), h->why, sizeof h->why) ||
	       hexc_gpu_load(h->g, m, &h->module);
}

/* A call, and what it adds: n and n + nth. */
static int
prepare(Host *h)
{
	int code = hexc_call_new(&h->add, h->module, h->kernel);

	for (int i = 0; i < 3 && !code; i++) {
		for (int n = 0; n < MOST; n++)
			h->number[n] = (float)(n + i * h->nth);
		code = hexc_gpu_alloc(h->g, sizeof h->number, &h->buffer[i]) ||
		       hexc_gpu_write(h->g, h->buffer[i], h->number, sizeof h->number) ||
		       hexc_call_ptr(h->add, i, h->buffer[i], sizeof h->number);
	}
	return code;
}

static void *
launch(void *user)
{
	Host *h = user;
	int size = hexc_call_find(h->add, "N");

	for (int i = 0; i < h->launches; i++)
		if (hexc_call_int(h->add, size, MOST - i % 100) || hexc_call_launch(h->add, NULL))
			return h;
	return NULL;
}

static void *
all(void *user)
{
	Host *h = user;

	return find(h) || prepare(h) ? h : launch(h);
}

int
main(int argc, char **argv)
{
	static Host host[THREADS];
	pthread_t id[THREADS];
	hexc_bundle *bundle;
	char why[500];
	int code = 0;

	if (argc < 3 || hexc_bundle_open(&bundle, argv[1], why, sizeof why))
		return puts(argc < 3 ? "threads BUNDLE LAUNCHES" : why), 1;
	for (int t = 0; t < THREADS && !code; t++) {
		Host *h = &host[t];

		h->bundle = bundle;
		h->nth = t;
		h->launches = atoi(argv[2]);
		if (t % 2)
			continue;
		if (t == 0)
			code = find(h);
		h->g = host[0].g;
		h->module = host[0].module;
		h->kernel = host[0].kernel;
		code = code || prepare(h);
	}
	if (code)
		return printf("%s %s\n", host[0].why, host[0].g ? hexc_gpu_why(host[0].g) : ""), 1;
	for (int t = 0; t < THREADS; t++)
		if (pthread_create(&id[t], NULL, t % 2 ? all : launch, &host[t]))
			return puts("no thread"), 1;
	for (int t = 0; t < THREADS; t++) {
		void *failed;

		pthread_join(id[t], &failed);
		if (failed)
			code = printf("thread %d: %s %s %s\n", t, host[t].why,
			              host[t].g ? hexc_gpu_why(host[t].g) : "",
			              host[t].add ? hexc_call_why(host[t].add) : "");
	}
	for (int t = 0; t < THREADS && !code; t++) {
		Host *h = &host[t];

		code = hexc_gpu_read(h->g, h->sum, h->buffer[2], sizeof h->sum);
		for (int n = 0; n < MOST && !code; n++)
			if (h->sum[n] != (float)(2 * n + h->nth))
				code = printf("thread %d: sum %d is %g\n", t, n, (double)h->sum[n]);
	}
	for (int t = THREADS; t-- > 0;) {
		hexc_call_free(host[t].add);
		if (t % 2 || t == 0)
			hexc_gpu_close(host[t].g);
	}
	hexc_bundle_close(bundle);
	return code != 0;
}

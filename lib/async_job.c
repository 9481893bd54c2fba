/* async_job.c - compiles in the background (hexc_compile_async), on a thread of hexc or on the host's
 * executor.
 *
 * The host and the executor each own a reference to a job; the last one to leave frees it. Shared members
 * are protected by the job's lock, except `state`, which specifies what may be read without it. */
#include "lib/lib.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_WAITS, JOB_RUNS, JOB_DONE };

struct hexc_job {
	pthread_mutex_t lock;
	pthread_cond_t done;
	_Atomic int state;
	_Atomic int stop;     /* cancelled */
	int owners;           /* remaining owners: the host, the executor */
	pthread_t thread;     /* created by hexc */
	bool own;
	hexc_ctx *ctx;
	char *file, *src;
	size_t len;
	hexc_module *module;  /* set when done, like the next */
	int code;
	int (*cancel)(void *user); /* callbacks of the host */
	void *(*realloc)(void *user, void *p, size_t n);
	void (*text)(void *user, const char *pass, const char *kernel, const char *ir);
	int (*assemble)(void *user, const char *arch, const char *kernel, const char *ptx, size_t n,
	                hexc_assembled *out);
	void *user;
};

/* ---- hooks ----------------------------------------------------------------------------------------- */

static int
job_cancelled(void *user)
{
	hexc_job *j = user;

	return atomic_load(&j->stop) || (j->cancel && j->cancel(j->user));
}

static void *
job_realloc(void *user, void *p, size_t n)
{
	hexc_job *j = user;

	if (j->realloc)
		return j->realloc(j->user, p, n);
	if (n)
		return realloc(p, n);
	free(p);
	return NULL;
}

static void
job_text(void *user, const char *pass, const char *kernel, const char *ir)
{
	hexc_job *j = user;

	j->text(j->user, pass, kernel, ir);
}

static int
job_assemble(void *user, const char *arch, const char *kernel, const char *ptx, size_t n, hexc_assembled *out)
{
	hexc_job *j = user;

	return j->assemble(j->user, arch, kernel, ptx, n, out);
}

/* ---- ends ------------------------------------------------------------------------------------------ */

static void
job_end(hexc_job *j)
{
	hexc_module_free(j->module);
	hexc_close(j->ctx);
	pthread_cond_destroy(&j->done);
	pthread_mutex_destroy(&j->lock);
	free(j->file);
	free(j->src);
	free(j);
}

/* Drops one owner, which holds the lock; the last one frees the job. */
static void
job_leave(hexc_job *j)
{
	int left = --j->owners;

	pthread_mutex_unlock(&j->lock);
	if (!left)
		job_end(j);
}

/* ---- work ------------------------------------------------------------------------------------------ */

/* Called once by the executor. */
static void
job_work(void *user)
{
	hexc_job *j = user;
	hexc_module *m = NULL;
	int code;

	pthread_mutex_lock(&j->lock);
	if (j->owners == 1) { /* the host has freed the job */
		job_leave(j);
		return;
	}
	atomic_store(&j->state, JOB_RUNS);
	pthread_mutex_unlock(&j->lock);
	code = hexc_compile(&m, j->ctx, j->file, j->src, j->len);
	if (m) { /* the module outlives the job and was allocated with the same callback */
		m->arena.realloc = j->realloc ? j->realloc : libc_realloc;
		m->arena.user = j->user;
	}
	pthread_mutex_lock(&j->lock);
	/* The library polls at intervals: a job cancelled since the last poll is still cancelled. */
	if (atomic_load(&j->stop)) {
		pthread_mutex_unlock(&j->lock); /* the host's realloc is called without the lock */
		hexc_module_free(m);
		m = NULL;
		code = outcome_leave(j->ctx, HEXC_E_LIMIT, "the compilation was cancelled");
		pthread_mutex_lock(&j->lock);
	}
	j->module = m;
	j->code = code;
	atomic_store(&j->state, JOB_DONE);
	pthread_cond_broadcast(&j->done);
	job_leave(j);
}

static void *
job_thread(void *user)
{
	job_work(user);
	return NULL;
}

/* ---- beginnings ------------------------------------------------------------------------------------ */

static int
job_open(hexc_job *j, const hexc_opts *opts)
{
	hexc_opts o = HEXC_OPTS_INIT;

	if (opts && (opts->size < offsetof(hexc_opts, define) || !take_in(&o, sizeof o, opts)))
		return HEXC_E_INVALID;
	j->cancel = o.cancel;
	j->realloc = o.realloc;
	j->text = o.text;
	j->assemble = o.assemble;
	j->user = o.user;
	o.cancel = job_cancelled;
	o.realloc = job_realloc;
	o.text = o.text ? job_text : NULL;
	o.assemble = o.assemble ? job_assemble : NULL;
	o.user = j;
	return hexc_open(&j->ctx, &o);
}

static char *
copy(const char *s, size_t n)
{
	char *to = malloc(n + 1);

	if (to && n)
		memcpy(to, s, n);
	if (to)
		to[n] = 0;
	return to;
}

static int
job_start(hexc_job *j, const hexc_executor *on)
{
	j->owners = 2;
	if (!on->start) {
		j->own = true; /* before the thread runs */
		if (thread_start(&j->thread, job_thread, j))
			return HEXC_OK;
		j->own = false;
	} else if (on->start(on->user, job_work, j) == 0) {
		return HEXC_OK;
	}
	j->owners = 1;
	return HEXC_E_LIMIT;
}

int
hexc_compile_async(hexc_job **out, const hexc_opts *opts, const char *file, const char *src, size_t len,
                   const hexc_executor *on)
{
	hexc_executor mine = HEXC_EXECUTOR_INIT;
	hexc_job *j;
	int code;

	if (out)
		*out = NULL;
	if (!out || (!src && len) || (on && !take_in(&mine, sizeof mine, on)))
		return HEXC_E_INVALID;
	j = calloc(1, sizeof *j);
	if (!j)
		return HEXC_E_NOMEM;
	j->owners = 1;
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->done, NULL);
	j->len = len;
	j->src = copy(src, len);
	j->file = file ? copy(file, strlen(file)) : NULL;
	code = !j->src || (file && !j->file) ? HEXC_E_NOMEM : job_open(j, opts);
	if (!code) {
		j->ctx->stay = mine.start != NULL;
		code = job_start(j, &mine);
	}
	if (code)
		job_end(j);
	else
		*out = j;
	return code;
}

/* ---- for the host ---------------------------------------------------------------------------------- */

int
hexc_job_done(const hexc_job *j)
{
	return j && atomic_load(&j->state) == JOB_DONE;
}

const hexc_module *
hexc_job_module(const hexc_job *j, const hexc_module *fallback)
{
	return hexc_job_done(j) && j->module ? j->module : fallback;
}

hexc_module *
hexc_job_take(hexc_job *j)
{
	hexc_module *m = NULL;

	if (hexc_job_done(j)) {
		m = j->module;
		j->module = NULL;
	}
	return m;
}

int
hexc_job_wait(hexc_job *j)
{
	if (!j)
		return HEXC_E_INVALID;
	pthread_mutex_lock(&j->lock);
	while (atomic_load(&j->state) != JOB_DONE)
		pthread_cond_wait(&j->done, &j->lock);
	pthread_mutex_unlock(&j->lock);
	return j->code;
}

void
hexc_job_cancel(hexc_job *j)
{
	if (!j)
		return;
	pthread_mutex_lock(&j->lock); /* either before or after the job is done */
	if (atomic_load(&j->state) != JOB_DONE)
		atomic_store(&j->stop, 1);
	pthread_mutex_unlock(&j->lock);
}

int
hexc_job_diag(const hexc_job *j, size_t i, hexc_diag_info *out)
{
	return hexc_job_done(j) && hexc_diag(j->ctx, i, out);
}

void
hexc_job_free(hexc_job *j)
{
	pthread_t thread;
	bool own;

	if (!j)
		return;
	hexc_job_cancel(j);
	thread = j->thread;
	own = j->own;
	pthread_mutex_lock(&j->lock);
	while (own ? atomic_load(&j->state) != JOB_DONE : atomic_load(&j->state) == JOB_RUNS)
		pthread_cond_wait(&j->done, &j->lock);
	if (own) { /* the thread only has to leave */
		pthread_mutex_unlock(&j->lock);
		pthread_join(thread, NULL);
		pthread_mutex_lock(&j->lock);
	}
	job_leave(j);
}

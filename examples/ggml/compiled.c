/* compiled.c - the prepared calls of hexc's operators by which a stream launches them. */
#include "examples/ggml/ggml_hexc.h"
#include "examples/ggml/compile_queue.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

typedef struct Call Call;

struct Call {
	Call *next;
	hexc_family_call *call;
	uint32_t hash;
	size_t size;
	char text[];            /* as in OperatorKey */
};

/* Device memory that grows. */
typedef struct Room {
	void *data;
	uint64_t size;
} Room;

struct Calls {
	Device *d;
	NewOperator new_operator;
	void *user;
	Call *bucket[BUCKETS];
	Room scratch, workspace;
	uint64_t epoch;         /* counts how often one of them moved */
};

static bool
say(char *why, size_t n, const char *what, const char *reason)
{
	snprintf(why, n, "%s: %s", what, reason);
	return false;
}

static Call *
make_call(Calls *c, const Launch *l, const OperatorKey *k, char *why, size_t n)
{
	Call *call = calloc(1, sizeof *call + k->size);
	const hexc_op *op;

	if (!call) {
		say(why, n, l->op, "out of memory");
		return NULL;
	}
	c->new_operator(c->user);
	op = compiled_operator(k, why, n);
	pthread_mutex_lock(&c->d->lock);
	if (op && hexc_family_call_new(&call->call, c->d->gpu, hexc_op_family(op)))
		say(why, n, l->op, hexc_gpu_why(c->d->gpu));
	pthread_mutex_unlock(&c->d->lock);
	if (!call->call) {
		free(call);
		return NULL;
	}
	call->hash = k->hash;
	call->size = k->size;
	memcpy(call->text, k->text, k->size);
	call->next = c->bucket[k->hash % BUCKETS];
	c->bucket[k->hash % BUCKETS] = call;
	return call;
}

static hexc_family_call *
find_call(Calls *c, const Launch *l, bool whole, char *why, size_t n)
{
	OperatorKey k;
	Call *call;

	if (!operator_key(&k, c->d->info.arch, l, whole)) {
		say(why, n, l->op, "its settings are too long");
		return NULL;
	}
	for (call = c->bucket[k.hash % BUCKETS]; call; call = call->next)
		if (call->hash == k.hash && call->size == k.size && !memcmp(call->text, k.text, k.size))
			return call->call;
	call = make_call(c, l, &k, why, n);
	return call ? call->call : NULL;
}

static bool
set_codebook(Device *d, hexc_family_call *call, int at, enum ggml_type type, char *why, size_t n)
{
	void *codebook = device_codebook(d, type, why, n);

	if (!codebook)
		return false;
	return !hexc_family_call_ptr(call, at, codebook, 0) ||
	       say(why, n, "codebook", hexc_family_call_why(call));
}

static int
set_arg(hexc_family_call *call, int at, const Arg *a, char *scratch)
{
	switch (a->kind) {
	case ARG_INT: return hexc_family_call_int(call, at, a->integer);
	case ARG_FLOAT: return hexc_family_call_float(call, at, a->number);
	case ARG_POINTER: return hexc_family_call_ptr(call, at, a->pointer, 0);
	case ARG_SCRATCH: return hexc_family_call_ptr(call, at, scratch + a->integer, 0);
	case ARG_CODEBOOK: break; /* set_codebook */
	}
	return HEXC_E_INVALID;
}

static bool
set_args(Device *d, hexc_family_call *call, const Launch *l, char *scratch, char *why, size_t n)
{
	for (int i = 0; i < l->args; i++) {
		const Arg *a = &l->arg[i];
		int at = hexc_family_call_find(call, a->name);

		if (at < 0) {
			snprintf(why, n, "%s: it has no argument %s", l->op, a->name);
			return false;
		}
		if (a->kind == ARG_CODEBOOK) {
			if (!set_codebook(d, call, at, (enum ggml_type)a->integer, why, n))
				return false;
		} else if (set_arg(call, at, a, scratch))
			return say(why, n, l->op, hexc_family_call_why(call));
	}
	return true;
}

/* Makes the room at least `size` bytes, which work on `stream` may use. */
static bool
room_grow(Calls *c, Room *room, uint64_t size, void *stream, char *why, size_t n)
{
	Device *d = c->d;
	bool ok;

	if (size <= room->size)
		return true;
	c->epoch++;
	ok = stream_wait(d, stream, why, n);
	pthread_mutex_lock(&d->lock);
	if (ok) {
		hexc_gpu_free(d->gpu, room->data);
		*room = (Room){ 0 };
		ok = !hexc_gpu_alloc(d->gpu, size, &room->data);
		if (ok)
			room->size = size;
		else
			say(why, n, "workspace", hexc_gpu_why(d->gpu));
	}
	pthread_mutex_unlock(&d->lock);
	return ok;
}

/* Returns the call with its arguments, and the bytes of its workspace; NULL if a kernel does not compile, or
 * none takes the launch. */
static hexc_family_call *
prepare(Calls *c, const Launch *l, bool whole, void *scratch, uint64_t *bytes, char *why, size_t n)
{
	hexc_family_call *call = find_call(c, l, whole, why, n);

	if (!call || !set_args(c->d, call, l, scratch, why, n))
		return NULL;
	if (hexc_family_call_line(call, NULL, bytes)) {
		say(why, n, l->op, hexc_family_call_why(call));
		return NULL;
	}
	return call;
}

/* Where the table's lines for the launch's sizes do not take it, another one may. */
static bool
launch(Calls *c, const Launch *l, void *scratch, void *stream, char *why, size_t n)
{
	uint64_t bytes = 0;
	hexc_family_call *call = prepare(c, l, false, scratch, &bytes, why, n);

	if (!call) {
		operator_key_widen(l);
		call = prepare(c, l, true, scratch, &bytes, why, n);
	}
	if (!call)
		return false;
	if (bytes) {
		if (!room_grow(c, &c->workspace, bytes, stream, why, n))
			return false;
		hexc_family_call_workspace(call, c->workspace.data, c->workspace.size);
	}
	if (hexc_family_call_launch(call, stream))
		return say(why, n, l->op, hexc_family_call_why(call));
	return true;
}

bool
calls_run(Calls *c, const Work *w, void *stream, char *why, size_t n)
{
	bool ok = room_grow(c, &c->scratch, (uint64_t)w->scratch, stream, why, n);

	for (int i = 0; ok && i < w->launches; i++)
		ok = launch(c, &w->launch[i], c->scratch.data, stream, why, n);
	return ok;
}

uint64_t
calls_epoch(const Calls *c)
{
	return c->epoch;
}

Calls *
calls_new(Device *d, NewOperator new_operator, void *user)
{
	Calls *c = calloc(1, sizeof *c);

	if (c) {
		c->d = d;
		c->new_operator = new_operator;
		c->user = user;
	}
	return c;
}

void
calls_free(Calls *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->d->lock);
	for (int i = 0; i < BUCKETS; i++)
		for (Call *call = c->bucket[i], *next; call; call = next) {
			next = call->next;
			hexc_family_call_free(call->call);
			free(call);
		}
	hexc_gpu_free(c->d->gpu, c->workspace.data);
	hexc_gpu_free(c->d->gpu, c->scratch.data);
	pthread_mutex_unlock(&c->d->lock);
	free(c);
}

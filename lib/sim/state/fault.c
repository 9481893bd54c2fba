/* fault.c - records the faults of a launch as they occur, and ends it before all blocks have run. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sim/state/fault.h"

void
launch_lock(Launch *l)
{
	if (l->nthread > 1)
		pthread_mutex_lock(&l->sync->sync);
}

void
launch_unlock(Launch *l)
{
	if (l->nthread > 1)
		pthread_mutex_unlock(&l->sync->sync);
}

/* The reason is that of the earliest stopped cluster. */
static void
stop_from(Launch *l, u32 at, int code, const char *why)
{
	if (l->stop && l->stop_at <= at)
		return;
	if (!l->stop || at)
		snprintf(l->why, 256, "%s", why);
	__atomic_store_n(&l->stop_at, at, __ATOMIC_RELAXED);
	__atomic_store_n(&l->stop, code, __ATOMIC_RELEASE);
}

void
launch_stop(Launch *l, int code, const char *why)
{
	LaunchLocks *s = l->sync;

	pthread_mutex_lock(&s->faults);
	stop_from(l, 0, code, why);
	pthread_mutex_unlock(&s->faults);
}

void
block_stop(Cta *b, int code, const char *why)
{
	LaunchLocks *s = b->l->sync;

	pthread_mutex_lock(&s->faults);
	stop_from(b->l, b->cl->lin + 1, code, why);
	pthread_mutex_unlock(&s->faults);
}

void
launch_hang(Launch *l, char *report)
{
	LaunchLocks *s = l->sync;

	pthread_mutex_lock(&s->faults);
	if (!l->hang) {
		l->hang = report;
		report = NULL;
	}
	pthread_mutex_unlock(&s->faults);
	free(report);
}

void
place_of(const Cta *b, u32 thread, u32 line, sim_place *out)
{
	const sim_launch *a = &b->l->a;

	out->line = line;
	out->source = source_of(&b->l->m->ptx, line, &out->source_line);
	memcpy(out->block, b->id, sizeof out->block);
	out->thread[0] = thread % a->block[0];
	out->thread[1] = thread / a->block[0] % a->block[1];
	out->thread[2] = thread / a->block[0] / a->block[1];
}

/* A race between two lines is one fault, whichever came first; *swap if it was reported in the opposite
 * order. */
static FaultRec *
same_fault(Launch *l, const sim_fault *as, bool *swap)
{
	sim_fault_kind kind = as->kind;
	u32 line = as->at.line, other = as->other.line;
	int warning = as->warning;
	bool race = kind == SIM_FAULT_RACE_SHARED || kind == SIM_FAULT_RACE_GLOBAL;
	FaultRec *f;

	*swap = false;
	for (f = l->faults; f; f = f->next) {
		if (f->f.kind == kind && f->f.warning == warning && f->f.at.line == line &&
		    f->f.other.line == other)
			return f;
		if (race && f->f.kind == kind && f->f.at.line == other && f->f.other.line == line) {
			*swap = true;
			return f;
		}
	}
	return NULL;
}

/* Allocates one more; returns NULL if there are enough of them, or the host suppresses it. */
static FaultRec *
one_more(Launch *l, const FaultRec *from)
{
	u32 *n = from->f.warning ? &l->nwarning : &l->nfault;
	FaultRec *f;

	if (*n >= l->max_fault || (l->a.suppress && l->a.suppress(l->a.user, &from->f)))
		return NULL;
	f = malloc(sizeof *f);
	if (!f)
		return NULL;
	f->next = l->faults;
	l->faults = f;
	++*n;
	return f;
}

static bool add(Warp *w, FaultRec *from, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);
static void vadd(Warp *w, int lane, FaultRec *f, u32 line, const sim_place *other, const char *fmt,
                 va_list ap) PRINTF_LIKE(6, 0);

/* Adds it to the launch's faults: a known one is counted, and reported at its earliest location. Returns
 * false if there are now too many. */
static bool
add(Warp *w, FaultRec *from, const char *fmt, va_list ap)
{
	Launch *l = w->cta->l;
	bool swap, full = false;
	FaultRec *f = same_fault(l, &from->f, &swap), *next;

	from->f.times = f ? f->f.times + 1 : 1;
	if (f) {
		bool later = from->lin > f->lin || (from->lin == f->lin && from->thread >= f->thread);
		if (swap ? from->f.at.line < from->f.other.line : later) {      /* races: at the later line */
			f->f.times++;
			return true;
		}
	}
	place_of(w->cta, from->thread, from->f.at.line, &from->f.at);
	vsnprintf(from->text, sizeof from->text, fmt, ap);
	from->f.text = from->text;
	if (!f) {
		f = one_more(l, from);
		full = f && !from->f.warning && l->nfault >= l->max_fault;
	}
	if (f) {
		next = f->next;
		*f = *from;
		f->next = next;
	}
	return !full;
}

static void
vadd(Warp *w, int lane, FaultRec *f, u32 line, const sim_place *other, const char *fmt, va_list ap)
{
	Launch *l = w->cta->l;
	bool ok;

	f->lin = w->cta->lin;
	f->cluster = w->cta->cl->lin;
	f->thread = w->id * WARP + (u32)lane;
	f->f.at.line = line;
	if (other)
		f->f.other = *other;
	pthread_mutex_lock(&l->sync->faults);
	ok = add(w, f, fmt, ap);
	pthread_mutex_unlock(&l->sync->faults);
	if (!ok)
		launch_stop(l, SIM_E_FAULT, "too many errors");
}

void
fault_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
          const sim_place *other, const char *fmt, ...)
{
	FaultRec f = { .f = { .kind = kind, .space = sp, .addr = addr, .bytes = bytes } };
	va_list ap;

	va_start(ap, fmt);
	vadd(w, lane, &f, line, other, fmt, ap);
	va_end(ap);
}

void
warning_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
            const sim_place *other, const char *fmt, ...)
{
	FaultRec f = { .f = { .kind = kind, .space = sp, .addr = addr, .bytes = bytes, .warning = 1 } };
	va_list ap;

	va_start(ap, fmt);
	vadd(w, lane, &f, line, other, fmt, ap);
	va_end(ap);
}

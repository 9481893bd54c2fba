/* fault.c - faults of a launch as they come, and its end before all blocks have run. */
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

/* What stops the earliest cluster is why. */
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
	Sync *s = l->sync;

	pthread_mutex_lock(&s->faults);
	stop_from(l, 0, code, why);
	pthread_mutex_unlock(&s->faults);
}

void
block_stop(Cta *b, int code, const char *why)
{
	Sync *s = b->l->sync;

	pthread_mutex_lock(&s->faults);
	stop_from(b->l, b->cl->lin + 1, code, why);
	pthread_mutex_unlock(&s->faults);
}

void
launch_hang(Launch *l, char *report)
{
	Sync *s = l->sync;

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

/* A race between two lines is one fault, whichever came first; *swap if it was reported the other
 * way round. */
static FaultRec *
same_fault(Launch *l, sim_fault_kind kind, u32 line, u32 other, bool *swap)
{
	bool race = kind == SIM_FAULT_RACE_SHARED || kind == SIM_FAULT_RACE_GLOBAL;
	FaultRec *f;

	*swap = false;
	for (f = l->faults; f; f = f->next) {
		if (f->f.kind == kind && f->f.at.line == line && f->f.other.line == other)
			return f;
		if (race && f->f.kind == kind && f->f.at.line == other && f->f.other.line == line) {
			*swap = true;
			return f;
		}
	}
	return NULL;
}

void
fault_add(Warp *w, int lane, sim_fault_kind kind, u32 line, sim_space sp, u64 addr, u32 bytes,
          const sim_place *other, const char *fmt, ...)
{
	Cta *b = w->cta;
	Launch *l = b->l;
	Sync *s = l->sync;
	u32 thread = w->id * WARP + (u32)lane;
	bool full = false, swap;
	FaultRec *f;
	va_list ap;
	u64 times = 0;

	pthread_mutex_lock(&s->faults);
	f = same_fault(l, kind, line, other ? other->line : 0, &swap);
	if (f) {
		bool later = b->lin > f->lin || (b->lin == f->lin && thread >= f->thread);
		times = f->f.times;
		if (swap ? line < other->line : later) {        /* races: reported at the later line */
			f->f.times++;
			pthread_mutex_unlock(&s->faults);
			return;
		}
	} else {
		f = l->nfault < l->max_fault ? calloc(1, sizeof *f) : NULL;
		if (!f) {
			pthread_mutex_unlock(&s->faults);
			return;
		}
		f->next = l->faults;
		l->faults = f;
		full = ++l->nfault >= l->max_fault;
	}
	f->lin = b->lin;
	f->cluster = b->cl->lin;
	f->thread = thread;
	f->f.kind = kind;
	place_of(b, thread, line, &f->f.at);
	if (other)
		f->f.other = *other;
	f->f.space = sp;
	f->f.addr = addr;
	f->f.bytes = bytes;
	f->f.times = times + 1;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&s->faults);
	if (full)
		launch_stop(l, SIM_E_FAULT, "too many faults");
}

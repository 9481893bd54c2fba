/* block_interleaving.c - interleaves the blocks of a grid on one thread, for kernels whose blocks may wait
 * for each other.
 *
 * A block that polls memory (poll.c) is suspended with its state, and another one runs: a new one, or a
 * suspended one. Few blocks are suspended at first; more are started if none of them makes progress. A stuck
 * block is not resumed until memory changes. If all remaining blocks are stuck, that is a deadlock. Output is
 * in block order: it is buffered until all earlier blocks have ended. */
#include "hexc/interp/interp_internal.h"
#include <inttypes.h>
#include <string.h>

enum { ROOM = 16 };
#define MOST_BYTES ((size_t)2 << 30) /* bytes of suspended blocks, if the caller sets no limit */

typedef struct Seat {
	Interp it;
	Text text;
	int64_t block;
	bool stuck;
	uint64_t effects; /* Common.effects when it was suspended */
	size_t bytes;     /* bytes allocated */
	struct Seat *next, *older; /* in Interleaving.spare; in the list of all */
} Seat;

typedef struct Interleaving {
	Interp *main;
	int64_t blocks;
	const int64_t *grid;
	int64_t next;   /* the next block to start */
	Seat **held;    /* in the order of their blocks */
	int n, cap, room;
	Seat *spare;    /* of blocks that have ended */
	Seat *all;
	size_t bytes, limit; /* bytes of all seats */
} Interleaving;

static void
flush(Interleaving *t, Seat *s)
{
	if (s->text.n)
		t->main->opt.print(t->main->opt.user, s->text.s, s->text.n);
	s->text.n = 0;
	s->it.held = NULL;
}

/* Copies the error to main, and prints the output of blocks up to it. */
static void
give_up(Interleaving *t, const Seat *at)
{
	for (int i = 0; i < t->n && t->held[i]->block <= at->block; i++)
		flush(t, t->held[i]);
	t->main->code = at->it.code;
	t->main->src = at->it.src;
	t->main->linear = at->it.linear;
	memcpy(t->main->text, at->it.text, sizeof t->main->text);
}

/* Starts or resumes the block of s. Returns false on an error. */
static bool
go_on(Interleaving *t, Seat *s, bool begin)
{
	Interp *it = &s->it;
	bool ok;

	it->arena.limit = t->limit > t->bytes - s->bytes ? t->limit - (t->bytes - s->bytes) : 1;
	if (setjmp(it->fail)) {
		it->code = INTERP_E_NOMEM;
		return false;
	}
	if (begin && !it->all.slot)
		interp_setup(it);
	ok = begin ? interp_body(it, s->block, t->blocks, t->grid) : interp_go_on(it);
	t->bytes += it->arena.held - s->bytes;
	s->bytes = it->arena.held;
	s->stuck = it->all.poll == POLL_STUCK;
	s->effects = it->common->effects;
	return ok;
}

static Seat *
seat_new(Interleaving *t)
{
	Seat *s = t->spare;

	if (s) {
		t->spare = s->next;
		return s;
	}
	s = NEW(&t->main->arena, Seat);
	interp_start(&s->it, t->main->k, t->main->arg, &t->main->opt);
	s->it.common = t->main->common;
	s->it.cancel = t->main->cancel;
	s->it.user = t->main->user;
	s->text.arena = &s->it.arena;
	s->older = t->all;
	t->all = s;
	return s;
}

/* Frees seats of ended blocks. A block with output waits until all earlier blocks have ended. */
static void
clear(Interleaving *t)
{
	int keep = 0;

	for (int i = 0; i < t->n; i++) {
		Seat *s = t->held[i];

		if (!keep)
			flush(t, s);
		if (s->it.all.nframe || s->text.n) {
			t->held[keep++] = s;
			continue;
		}
		s->next = t->spare;
		t->spare = s;
	}
	t->n = keep;
}

/* Describes the first blocks in detail, and the number of the rest. */
static bool
deadlock(Interleaving *t, Seat **at)
{
	enum { NAMED = 2 };
	Text text = { .arena = &t->main->arena };
	int waiting = 0;

	for (int i = 0; i < t->n; i++) {
		Seat *s = t->held[i];

		if (!s->it.all.nframe)
			continue;
		*at = waiting ? *at : s;
		if (waiting++ >= NAMED)
			continue;
		text_printf(&text, "%sblock %" PRId64 ",%" PRId64 ",%" PRId64, waiting > 1 ? "; " : "",
		            s->it.block[0], s->it.block[1], s->it.block[2]);
		poll_say(&s->it, &text);
	}
	if (waiting > NAMED)
		text_printf(&text, "; %d more wait", waiting - NAMED);
	return interp_error(&(*at)->it, INTERP_E_FAULT, (*at)->it.loop,
	                    "deadlock: %s, and no remaining block changes it", text.s);
}

static bool
begin_one(Interleaving *t, Seat **at)
{
	Seat *s = *at = seat_new(t);

	s->block = t->next++;
	s->it.held = t->n && t->main->opt.print ? &s->text : NULL;
	VEC_PUSH(&t->main->arena, t->held, t->n, t->cap, s);
	if (!go_on(t, s, true))
		return false;
	clear(t);
	return true;
}

/* Resumes each block that may progress. *moved: one has ended, or memory has changed; *open: one is not
 * stuck. */
static bool
sweep(Interleaving *t, bool *moved, bool *open, Seat **at)
{
	uint64_t before = t->main->common->effects;

	*moved = *open = false;
	for (int i = 0; i < t->n; i++) {
		Seat *s = *at = t->held[i];

		if (!s->it.all.nframe || (s->stuck && s->effects == t->main->common->effects))
			continue;
		if (!go_on(t, s, false))
			return false;
		*moved = *moved || !s->it.all.nframe;
		*open = *open || !s->stuck;
	}
	*moved = *moved || t->main->common->effects != before;
	clear(t);
	return true;
}

static bool
no_room(Interleaving *t, Seat **at)
{
	*at = t->held[0];
	return interp_error(&(*at)->it, INTERP_E_LIMIT, (*at)->it.loop,
	                    "%d blocks wait for later ones, but there is not enough memory to run more of "
			    "the "
	                    "%" PRId64 " blocks concurrently",
	                    t->n, t->blocks);
}

static bool
run(Interleaving *t, Seat **at)
{
	while (t->next < t->blocks || t->n) {
		bool moved, open, more = t->next < t->blocks && (t->spare || t->bytes < t->limit / 2);

		if (more && t->n < t->room) {
			if (!begin_one(t, at))
				return false;
			continue;
		}
		if (!sweep(t, &moved, &open, at))
			return false;
		if (moved)
			continue;
		if (more)
			t->room *= 2;
		else if (!open && t->next < t->blocks)
			return no_room(t, at);
		else if (!open)
			return deadlock(t, at);
	}
	return true;
}

void
turns_run(Interp *main, int64_t blocks, const int64_t grid[3])
{
	Interleaving *t = NEW(&main->arena, Interleaving);

	*t = (Interleaving){ .main = main, .blocks = blocks, .grid = grid, .room = ROOM };
	t->limit = main->arena.limit ? main->arena.limit : MOST_BYTES;
	if (setjmp(main->fail)) {
		main->code = INTERP_E_NOMEM;
	} else {
		Seat *at = NULL;
		if (!run(t, &at))
			give_up(t, at);
	}
	for (Seat *s = t->all; s; s = s->older)
		arena_free(&s->it.arena);
}

/* block_interleaving.c - runs the blocks of a grid in turns, where they may wait for each other.
 *
 * A block that polls memory (poll.c) is put aside with all it holds, and another one goes on: a new
 * one, or one that was put aside before.  Few are held at first; more are begun when none of those
 * held gets on.  A block that is stuck is left alone until memory changes.  When all that is left is
 * stuck, that is a deadlock.  What blocks print comes in their order: it is held back until those
 * before them have ended. */
#include "hexc/interp/interp_internal.h"
#include <inttypes.h>
#include <string.h>

enum { ROOM = 16 };
#define MOST_BYTES ((size_t)2 << 30) /* of blocks that are held, when the caller sets no limit */

typedef struct Seat {
	Interp it;
	Text text;
	int64_t block;
	bool stuck;
	uint64_t effects; /* Common.effects when it stopped */
	size_t bytes;     /* that it holds */
	struct Seat *next, *older; /* of Turns.spare; of all */
} Seat;

typedef struct Interleaving {
	Interp *main;
	int64_t blocks;
	const int64_t *grid;
	int64_t next;   /* the block to begin */
	Seat **held;    /* in the order of their blocks */
	int n, cap, room;
	Seat *spare;    /* of blocks that have ended */
	Seat *all;
	size_t bytes, limit; /* of all seats */
} Interleaving;

static void
flush(Interleaving *t, Seat *s)
{
	if (s->text.n)
		t->main->opt.print(t->main->opt.user, s->text.s, s->text.n);
	s->text.n = 0;
	s->it.held = NULL;
}

/* The first fault goes to main, and all memory back. */
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

/* The block of s begins, or goes on; false on a fault. */
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

/* Seats whose block has ended become spare, once all blocks before have ended, too, if it has printed. */
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

/* More blocks wait than are written: of the rest one number. */
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
	                    "deadlock: %s, and no block is left that changes it", text.s);
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

/* A turn of each block that may get on.  *moved: one has ended, or memory has changed; *open: one is
 * not stuck. */
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
	                    "%d blocks wait for later ones, and there is no memory to begin more of the "
	                    "%" PRId64 " side by side",
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

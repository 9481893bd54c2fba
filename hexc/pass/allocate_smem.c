/* allocate_smem.c - pass allocate_smem: allocates shared memory for tiles, mbarriers and scratch by liveness.
 *
 * requires   layouts of shared tiles and lowerings with staging tiles, if any
 * preserves  everything but what it sets
 * sets       the offset of each alloc, mbar and staging tile (bytes from the start of the block's shared
 *            memory), Kernel.smem, Kernel.team_smem
 *
 * A tile is live from its first to its last access, in textual order. An access inside a loop outside of
 * which the tile is allocated makes it live through the loop. A tile written by an async copy stays live up
 * to the next `wait 0`, however early its last read is. Scratch is live during its op. Tiles are allocated
 * largest first, each in the smallest gap between simultaneously live tiles. Tiles that are never live at
 * once may share memory; pass insert_barriers adds the barriers for this.
 *
 * Warp roles run concurrently: tiles of different roles are live at once. So are mbarriers, and the tiles
 * that copies with mbarriers fill; these share memory with nothing. With several consumer groups each has its
 * own copy of the role's tiles, one after the other (Kernel.team_smem).
 *
 * An op with scratch has a barrier between its writes and reads. If tiles read before it keep their memory
 * up to the next such op, also around loops, that barrier orders these reads too. Then no barrier is
 * needed before the op. So all tiles live that long if it does not reduce the blocks per SM; otherwise
 * only scratch and tiles of loops do; otherwise none.
 *
 * The search evaluates solutions before they are in the IR (smem_least): an SmemPlan describes their
 * additions. */
#include "hexc/ir/memory_effects.h"
#include "hexc/pass/pass.h"
#include "hexc/pass/allocate_smem.h"
#include <stdlib.h>
#include <string.h>

enum { TEAM_ALIGN = 1024, NAMED = 4, STEP = 2, LOCAL = 64 * STEP };
enum { COMPARES = 4 }; /* of two buffers, that take as long as one unit of work */

typedef struct SmemBuffer {
	Op *op;          /* the alloc or mbar, or the op that has, or follows, the scratch */
	bool before;     /* scratch of a layout conversion that is not in the IR yet */
	Role role;       /* the role that uses it */
	int64_t bytes, align, off;
	int64_t from, to; /* textual positions; from > to: never accessed */
	int64_t until;   /* position of the scratch that follows; below `to`: not significant */
	const Op *round; /* the scratch that follows across the back edge of its loop; NULL: none */
	bool outer;      /* a tile allocated outside of loops */
	int number;      /* textual order, to break ties */
} SmemBuffer;

typedef struct Smem {
	Kernel *k;
	const SmemPlan *plan; /* additions that are not in the IR yet; NULL: none */
	SmemBuffer *item;
	int n, cap;
	int64_t *at;  /* by op id: position, a multiple of STEP */
	int64_t *end; /* by op id: position of the last op of its regions */
	int64_t pos;
	int *tile;    /* by id of an alloc: its item's index plus 1 */
	Op **drain;   /* every `wait 0` and `wg_wait 0`, in textual order */
	int ndrain, drain_cap;
	int *local;   /* indices of placed buffers that are local, by `from` */
	int *wide;    /* .. and of the others */
	int *near;    /* .. and of those that interfere with the one being placed */
	int nlocal, nwide, nnear;
	/* which buffers live up to the next scratch: 2 all, 1 scratch and tiles of loops, 0 none */
	int apart;
} Smem;

/* Bytes of a shared tile in this layout. */
static int64_t
tile_bytes(const Type *t, const Layout *l)
{
	int64_t n = type_size(t), unit;

	if (l) {
		n = layout_cosize(l, AX_mem);
		/* a swizzle permutes elements within blocks of this size */
		unit = l->swizzle.bits ? (int64_t)1 << (l->swizzle.base + abs(l->swizzle.bits)) : 1;
		n = align_up(n, unit);
	}
	return ceil_div(n * dtype_info[t->dtype].bits, 8);
}

int64_t
smem_alloc_bytes(const Op *alloc)
{
	const Type *t = &alloc->out[0]->type;

	return tile_bytes(t, t->layout);
}

bool
smem_has_scratch(const Op *o)
{
	return lowering_is_staged(o->lowering);
}

/* ---- liveness -------------------------------------------------------------------------------- */

static void
add_item(Smem *s, SmemBuffer it)
{
	it.role = op_role(it.op);
	it.until = -1;
	it.number = s->n;
	VEC_PUSH(s->k->unit->arena, s->item, s->n, s->cap, it);
}

static void
add_tile(Smem *s, Op *o)
{
	const Val *v = o->out[0];
	int64_t align = s->plan ? s->plan->align[o->id] : 0;

	align = IMM(o, align) > align ? IMM(o, align) : align;
	add_item(s, (SmemBuffer){ .op = o,
	                          .bytes = tile_bytes(&v->type, s->plan ? s->plan->layout[v->id]
	                                                                : v->type.layout),
	                          .align = align > SMEM_ALIGN ? align : SMEM_ALIGN,
	                          .from = INT64_MAX,
	                          .to = -1 });
	s->tile[o->id] = s->n;
}

static void
add_scratch(Smem *s, const SmemScratch *x)
{
	int64_t at = s->at[x->op->id] - (x->before ? STEP / 2 : 0);

	add_item(s, (SmemBuffer){ .op = x->op,
	                          .before = x->before,
	                          .bytes = x->bytes,
	                          .align = SMEM_ALIGN,
	                          .from = at,
	                          .to = at });
}

static void
number_block(Smem *s, Block *b)
{
	for (Op *o = b->first; o; o = o->next) {
		s->at[o->id] = s->pos;
		s->pos += STEP;
		if (o->code == O_mbarrier)
			add_item(s, (SmemBuffer){ .op = o,
			                          .bytes = o->out[0]->type.shape[0] * MBAR_BYTES,
			                          .align = SMEM_ALIGN,
			                          .to = INT64_MAX });
		else if (o->code == O_alloc)
			add_tile(s, o);
		else if (smem_has_scratch(o))
			add_scratch(s, &(SmemScratch){ .op = o, .bytes = o->lowering->staged.bytes });
		else if ((o->code == O_async_wait || o->code == O_wgmma_wait) && IMM(o, pending) == 0)
			VEC_PUSH(s->k->unit->arena, s->drain, s->ndrain, s->drain_cap, o);
		for (int r = 0; r < 2; r++)
			if (o->blk[r])
				number_block(s, o->blk[r]);
		s->end[o->id] = s->pos - STEP;
	}
}

static SmemBuffer *
item_of(Smem *s, const Op *alloc)
{
	return s->tile[alloc->id] ? &s->item[s->tile[alloc->id] - 1] : NULL;
}

static void
live(SmemBuffer *it, int64_t from, int64_t to)
{
	it->from = from < it->from ? from : it->from;
	it->to = to > it->to ? to : it->to;
}

/* Does this wait for all groups complete everything asynchronous that o started? */
static bool
drains(const Op *wait, const Op *o)
{
	if (o->code == O_wgmma || wait->code == O_wgmma_wait)
		return o->code == O_wgmma && wait->code == O_wgmma_wait;
	return IMM(o, async) != COPY_BARRIER && (IMM(o, async) == COPY_OUT) == (IMM(wait, bulk) != 0);
}

/* Returns the position where an async op has completed. */
static int64_t
landed(const Smem *s, const Op *o)
{
	for (int i = 0; i < s->ndrain; i++)
		if (s->at[s->drain[i]->id] > s->at[o->id] && block_inside(o->parent, s->drain[i]->parent) &&
		    drains(s->drain[i], o))
			return s->at[s->drain[i]->id];
	return s->pos;
}

static void
access_buffer(Smem *s, const Op *o, Val *v, bool async)
{
	const Op *alloc = view_root(v)->def;
	SmemBuffer *it = alloc && alloc->code == O_alloc ? item_of(s, alloc) : NULL;

	if (!it)
		return;
	if (op_role(o) != it->role) /* textual order does not relate roles */
		live(it, 0, s->pos);
	live(it, s->at[o->id], async ? landed(s, o) : s->at[o->id]);
	for (const Block *b = o->parent; b && b != alloc->parent && b->owner; b = b->owner->parent)
		if (b->owner->code == O_for)
			live(it, s->at[b->owner->id], s->end[b->owner->id]);
}

static void
find_liveness(Smem *s)
{
	OpWalk w;

	for (Op *o = walk_first(&w, s->k->body); o; o = walk_next(&w)) {
		if (o->code == O_load)
			access_buffer(s, o, load_source(o), false);
		else if (o->code == O_store)
			access_buffer(s, o, store_dest(o), false);
		else if (o->code == O_copy)
			access_buffer(s, o, o->in[IMM(o, async) == COPY_OUT ? 0 : 1], IMM(o, async) != 0);
		if (access_found(o))
			access_buffer(s, o, access_found(o), false);
		for (int i = 0; i < 2 && o->code == O_wgmma; i++)
			if (o->in[i]->type.space == S_shared)
				access_buffer(s, o, o->in[i], true);
	}
}

static const Op *
loop_of(const Op *o)
{
	const Block *b = o->parent;

	while (b->owner && b->owner->code != O_for)
		b = b->owner->parent;
	return b->owner;
}

/* Returns the first of `n` scratch buffers, in textual order, that is used after position `after`; -1: none
 * is. */
static int
next_scratch(const Smem *s, const int *scratch, int n, int64_t after)
{
	int lo = 0, hi = n;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (s->item[scratch[mid]].from <= after)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n ? scratch[lo] : -1;
}

/* Finds the next scratch after each scratch and tile of a loop, in textual order and around the back edge. */
static void
find_next(Smem *s)
{
	int *scratch = NEWN(s->k->unit->arena, int, s->n), n = 0;

	for (int i = 0; i < s->n; i++)
		if (smem_has_scratch(s->item[i].op))
			scratch[n++] = i;
	for (int i = 0; i < s->n; i++) {
		SmemBuffer *it = &s->item[i];
		const Op *loop = loop_of(it->op);
		int next = next_scratch(s, scratch, n, it->to);
		int first = loop ? next_scratch(s, scratch, n, s->at[loop->id]) : -1;

		it->outer = !loop && it->op->code == O_alloc;
		if (it->from > it->to)
			continue;
		it->until = next < 0 ? it->to : s->item[next].from;
		if (first >= 0 && first != i && s->item[first].from <= s->end[loop->id] &&
		    (next < 0 || it->until > s->end[loop->id]))
			it->round = s->item[first].op;
	}
}

/* ---- placement ------------------------------------------------------------------------------- */

static int
larger_first(const void *x, const void *y)
{
	const SmemBuffer *a = x, *b = y;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static int64_t
last_of(const Smem *s, const SmemBuffer *it)
{
	return s->apart >= (it->outer ? 2 : 1) && it->until > it->to ? it->until : it->to;
}

/* Is it in the memory that each consumer group has separately? */
static bool
by_team(const Smem *s, const SmemBuffer *it)
{
	return it->role == ROLE_CONSUMER && s->k->teams > 1;
}

static bool
interfere(const Smem *s, const SmemBuffer *a, const SmemBuffer *b)
{
	if (by_team(s, a) != by_team(s, b))
		return false; /* separate areas */
	if (a->role != b->role && a->role != ROLE_ALL && b->role != ROLE_ALL)
		return true;
	return (a->from <= last_of(s, b) && b->from <= last_of(s, a)) ||
	       (s->apart && (a->round == b->op || b->round == a->op));
}

/* Does it interfere only with buffers that are live nearby, in at most LOCAL positions? */
static bool
is_local(const Smem *s, const SmemBuffer *it)
{
	return it->role == ROLE_ALL && !(s->apart && it->round) && last_of(s, it) - it->from <= LOCAL;
}

/* Returns the number of local buffers that are live from before `pos` on. */
static int
local_before(const Smem *s, int64_t pos)
{
	int lo = 0, hi = s->nlocal;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (s->item[s->local[mid]].from < pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
add_near(Smem *s, int i, const int *placed, int from, int to)
{
	if (from < to)
		arena_work(s->k->unit->arena, (size_t)(to - from) / COMPARES);
	for (int j = from; j < to; j++)
		if (interfere(s, &s->item[i], &s->item[placed[j]]))
			s->near[s->nnear++] = placed[j];
}

static void
find_near(Smem *s, int i)
{
	const SmemBuffer *it = &s->item[i];
	bool local = is_local(s, it);

	s->nnear = 0;
	add_near(s, i, s->wide, 0, s->nwide);
	add_near(s, i, s->local, local ? local_before(s, it->from - LOCAL) : 0,
	         local ? local_before(s, last_of(s, it) + 1) : s->nlocal);
}

static void
add_placed(Smem *s, int i)
{
	int at = local_before(s, s->item[i].from);

	if (!is_local(s, &s->item[i])) {
		s->wide[s->nwide++] = i;
		return;
	}
	memmove(s->local + at + 1, s->local + at, (size_t)(s->nlocal - at) * sizeof *s->local);
	s->local[at] = i;
	s->nlocal++;
}

/* First offset >= `off` where item i collides with no near one; *room: free bytes from there. */
static int64_t
next_gap(const Smem *s, int i, int64_t off, int64_t *room)
{
	const SmemBuffer *it = &s->item[i];
	bool moved = true;

	off = align_up(off, it->align);
	while (moved) {
		arena_work(s->k->unit->arena, (size_t)s->nnear / COMPARES);
		moved = false;
		*room = INT64_MAX;
		for (int j = 0; j < s->nnear; j++) {
			const SmemBuffer *o = &s->item[s->near[j]];

			if (o->off < off + it->bytes && off < o->off + o->bytes) {
				off = align_up(o->off + o->bytes, it->align);
				moved = true;
			} else if (o->off >= off && o->off - off < *room) {
				*room = o->off - off;
			}
		}
	}
	return off;
}

static void
place(Smem *s, int i)
{
	int64_t best = -1, best_room = 0, off = 0, room;

	find_near(s, i);
	for (;;) {
		off = next_gap(s, i, off, &room);
		if (best < 0 || room < best_room) {
			best = off;
			best_room = room;
		}
		if (room == INT64_MAX)
			break;
		off += room; /* after the next tile */
	}
	s->item[i].off = best;
	add_placed(s, i);
}

static const char *
tunable_hint(const Kernel *k)
{
	for (int i = 0; i < k->nconstants; i++) {
		const char *n = k->constants[i].name;

		if (n[0] == 'S' && n[1] == 'T' && n[2] == 'A' && k->constants[i].value > 1)
			return arena_printf(k->unit->arena, "a smaller %s (now %lld) or smaller tiles", n,
			                    (long long)k->constants[i].value);
	}
	return "fewer stages or smaller tiles";
}

static void
too_much(const Smem *s, int64_t need)
{
	const Kernel *k = s->k;
	const Target *t = k->unit->target;
	Src src = s->item[0].op->src.line ? s->item[0].op->src : k->src;

	diag_error(k->unit->diag, src,
	           "kernel %s needs %lld bytes of shared memory, a block has %lld on %s; use %s", k->name,
	           (long long)need, (long long)t->smem, t->name, tunable_hint(k));
	for (int i = 0; i < s->n && i < NAMED; i++) {
		const SmemBuffer *it = &s->item[i];
		const Val *v = it->op->nout ? it->op->out[0] : NULL;

		if ((it->op->code == O_alloc || it->op->code == O_mbarrier) && !it->before)
			diag_note(k->unit->diag, it->op->src, "%lld bytes: %s%s%s", (long long)it->bytes,
			          v->name ? v->name : "", v->name ? ": " : "",
			          type_print(k->unit->arena, &v->type));
		else
			diag_note(k->unit->diag, it->op->src, "%lld bytes: scratch of %s",
			          (long long)it->bytes,
			          op_info[it->before ? O_convert_layout : it->op->code].name);
	}
}

/* Allocates everything, with per-group offsets from 0. Returns the bytes of both areas. */
static void
place_parts(Smem *s, int64_t *shared, int64_t *team)
{
	*shared = *team = 0;
	for (int i = 0; i < s->n; i++) {
		const SmemBuffer *it = &s->item[i];
		int64_t *need = by_team(s, it) ? team : shared;

		place(s, i);
		*need = it->off + it->bytes > *need ? it->off + it->bytes : *need;
	}
}

/* Allocates everything. Returns the bytes needed. */
static int64_t
place_all(Smem *s, int apart)
{
	int64_t shared, team;

	s->apart = apart;
	s->nlocal = s->nwide = 0;
	if (!s->near) {
		s->near = NEWN(s->k->unit->arena, int, s->n);
		s->local = NEWN(s->k->unit->arena, int, s->n);
		s->wide = NEWN(s->k->unit->arena, int, s->n);
	}
	place_parts(s, &shared, &team);
	s->k->team_smem = align_up(team, TEAM_ALIGN);
	if (!team)
		return align_up(shared, SMEM_ALIGN);
	shared = align_up(shared, TEAM_ALIGN);
	for (int i = 0; i < s->n; i++)
		if (by_team(s, &s->item[i]))
			s->item[i].off += shared;
	return shared + s->k->team_smem * s->k->teams;
}

/* Blocks per SM by shared memory and warps; 0: it does not fit. The bytes that the system reserves per block
 * from sm_80 on are also counted on sm_75, which has none (targets.def): there buffers are kept separate
 * slightly less often than possible. */
static int
blocks(const Kernel *k, int64_t need)
{
	enum { SYSTEM = 1024 };
	const Target *t = k->unit->target;
	int64_t counted = need + SYSTEM - t->system;

	return counted > t->smem ? 0 : occupancy(t, kernel_warps(k), 0, counted);
}

static void
find_items(Smem *s)
{
	const SmemPlan *plan = s->plan;
	Kernel *k = s->k;

	s->at = NEWN(k->unit->arena, int64_t, (size_t)k->nop + 1);
	s->end = NEWN(k->unit->arena, int64_t, (size_t)k->nop + 1);
	s->tile = NEWN(k->unit->arena, int, (size_t)k->nop + 1);
	number_block(s, k->body);
	for (int i = 0; plan && i < plan->nscratch; i++)
		add_scratch(s, &plan->scratch[i]);
	find_liveness(s);
}

static void
sort_items(Smem *s)
{
	if (s->n)
		qsort(s->item, (size_t)s->n, sizeof *s->item, larger_first);
}

static int64_t
place_plan(Smem *s)
{
	int64_t team = s->k->team_smem, need;

	find_items(s);
	sort_items(s);
	need = place_all(s, 0);
	s->k->team_smem = team;
	return need;
}

int64_t
smem_least(Kernel *k, const SmemPlan *plan)
{
	return place_plan(&(Smem){ .k = k, .plan = plan });
}

void
smem_too_much(Kernel *k, const SmemPlan *plan)
{
	Smem s = { .k = k, .plan = plan };
	int64_t need = place_plan(&s);

	too_much(&s, need);
}

bool
pass_allocate_smem(Kernel *k)
{
	Smem s = { .k = k };
	int64_t need;

	find_items(&s);
	find_next(&s);
	sort_items(&s);
	need = k->smem = place_all(&s, 0);
	for (int apart = 2; apart >= 0 && k->unit->target; apart--) {
		k->smem = place_all(&s, apart);
		if (k->smem <= need ||
		    (k->smem <= k->unit->target->smem && blocks(k, k->smem) >= blocks(k, need)))
			break;
	}
	for (int i = 0; i < s.n; i++) {
		const SmemBuffer *it = &s.item[i];

		if (it->op->code == O_alloc || it->op->code == O_mbarrier)
			IMM_SET(it->op, offset, it->off);
		else
			it->op->lowering->staged.off = it->off;
	}
	if (k->unit->target && k->smem > k->unit->target->smem)
		too_much(&s, k->smem);
	return s.n > 0;
}

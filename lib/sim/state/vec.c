/* vec.c - stores the vector clocks of blocks sparsely: what is known of each block, by warp and agent.
 *
 * A Vec is a tree with 16 branches per node over the block indices, with a block's clocks (see Know.vc) at
 * each leaf. Trees share common nodes: a node with several references is immutable. So the vectors of many
 * blocks that know of each other cost one path each. Where two are the same node, which a pointer comparison
 * detects, there is nothing to do. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/state/fault.h"
#include "lib/sim/state/execution.h"

enum { FAN = 16, FAN_BITS = 4 };

struct Vec {
	u32 refs, n;            /* clocks of a leaf, which replace the branches; 0: a branch node */
	Vec *kid[];
};

static u32 *
clocks(Vec *leaf)
{
	return (u32 *)(void *)leaf->kid;
}

static Vec *
vec_ref(Vec *v)
{
	if (v)
		__atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
	return v;
}

static void
put_back(Vec *v)
{
	if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (u32 i = 0; !v->n && i < FAN; i++)
		put_back(v->kid[i]);
	free(v);
}

void
vec_drop(Vec **v)
{
	put_back(*v);
	*v = NULL;
}

void
vec_copy(Vec **to, Vec *from)
{
	if (*to == from)
		return;
	vec_ref(from);
	put_back(*to);
	*to = from;
}

static u32
levels(const Launch *l)
{
	u32 n = 0;

	while (n < 32 / FAN_BITS && l->nblock > 1u << FAN_BITS * n)
		n++;
	return n;
}

static u32
branch(u32 lin, u32 level)
{
	return lin >> FAN_BITS * (level - 1) & (FAN - 1);
}

/* When out of memory, the knowledge is lost and the launch ends. */
static Vec *
node(Launch *l, u32 n)
{
	size_t bytes = sizeof(Vec) + (n ? n * sizeof(u32) : FAN * sizeof(Vec *));
	Vec *v = calloc(1, bytes);

	if (!v) {
		launch_stop(l, SIM_E_NOMEM, "out of memory");
		return NULL;
	}
	v->refs = 1;
	v->n = n;
	return v;
}

static bool
covers(Vec *a, Vec *b)      /* for leaves: a knows all that b does */
{
	for (u32 i = 0; i < b->n; i++)
		if (clocks(b)[i] > (i < a->n ? clocks(a)[i] : 0))
			return false;
	return true;
}

static Vec *
join_leaves(Launch *l, Vec *a, Vec *b)
{
	Vec *v;

	if (covers(a, b) || covers(b, a))
		return vec_ref(covers(a, b) ? a : b);
	v = node(l, a->n > b->n ? a->n : b->n);
	for (u32 i = 0; v && i < v->n; i++) {
		u32 x = i < a->n ? clocks(a)[i] : 0, y = i < b->n ? clocks(b)[i] : 0;
		clocks(v)[i] = x > y ? x : y;
	}
	return v ? v : vec_ref(a);
}

/* Returns a reference to the combined knowledge of a and b. */
static Vec *
join(Launch *l, Vec *a, Vec *b)
{
	Vec *kid[FAN], *v = NULL;
	bool is_a = true, is_b = true;

	if (a == b || !b)
		return vec_ref(a);
	if (!a)
		return vec_ref(b);
	if (a->n)
		return join_leaves(l, a, b);
	for (u32 i = 0; i < FAN; i++) {
		kid[i] = join(l, a->kid[i], b->kid[i]);
		is_a = is_a && kid[i] == a->kid[i];
		is_b = is_b && kid[i] == b->kid[i];
	}
	if (is_a || is_b || !(v = node(l, 0))) {
		for (u32 i = 0; i < FAN; i++)
			put_back(kid[i]);
		return vec_ref(is_b ? b : a);
	}
	memcpy(v->kid, kid, sizeof kid);
	return v;
}

void
vec_join(Launch *l, Vec **to, Vec *from)
{
	Vec *old = *to;

	if (old == from || !from)
		return;
	*to = join(l, old, from);
	put_back(old);
}

/* *at, unshared, becomes that leaf, or a path to it. */
static void
put_leaf(Launch *l, Vec **at, u32 level, u32 lin, Vec *leaf)
{
	Vec *v = *at;

	if (!level) {
		put_back(v);
		*at = leaf;
		return;
	}
	if (!v || __atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) > 1) {
		Vec *own = node(l, 0);
		if (!own) {
			put_back(leaf);
			return;
		}
		for (u32 i = 0; v && i < FAN; i++)
			own->kid[i] = vec_ref(v->kid[i]);
		put_back(v);
		*at = own;
	}
	put_leaf(l, &(*at)->kid[branch(lin, level)], level - 1, lin, leaf);
}

static Vec *
leaf_of(const Launch *l, Vec *v, u32 lin)
{
	for (u32 level = levels(l); v && level; level--)
		v = v->kid[branch(lin, level)];
	return v;
}

u32
vec_clock(const Launch *l, Vec *v, u32 lin, u32 i)
{
	Vec *leaf = v ? leaf_of(l, v, lin) : NULL;

	return leaf && i < leaf->n ? clocks(leaf)[i] : 0;
}

void
vec_own(Warp *w)
{
	Vec *leaf = w->know.far ? leaf_of(w->cta->l, w->know.far, w->cta->lin) : NULL;

	for (u32 i = 0; leaf && i < leaf->n; i++)
		if (w->know.vc[i] < clocks(leaf)[i])
			w->know.vc[i] = clocks(leaf)[i];
}

/* Sets *to to the knowledge `know` of its block, for other blocks, with w itself at `clock`. */
static void
vec_of(const Warp *w, const Know *know, u32 clock, Vec **to)
{
	Launch *l = w->cta->l;
	u32 n = NCLOCK;
	Vec *leaf;

	while (n > w->id + 1 && !know->vc[n - 1])
		n--;
	leaf = node(l, n);
	vec_copy(to, know->far);
	if (!leaf)
		return;
	memcpy(clocks(leaf), know->vc, n * sizeof *know->vc);
	if (clocks(leaf)[w->id] < clock)
		clocks(leaf)[w->id] = clock;
	put_leaf(l, to, levels(l), w->cta->lin, leaf);
}

Vec *
vec_now(Warp *w, Vec **room)
{
	vec_of(w, &w->know, w->clock, room);
	w->clock++;
	return *room;
}

Vec *
vec_fenced(Warp *w, u32 scope)
{
	if (w->unmade[scope])
		vec_of(w, &w->rel, 0, &w->vrel[scope]);
	w->unmade[scope] = false;
	return w->vrel[scope];
}

/* util_tiler.c - applies CuTe operations mode by mode: profiles, tilers, blocked and raked products. */
#include "test/taskmap/util_cute.h"

bool
cute_flatten(Layout *out, const Layout *a)
{
	Modes m;
	bool tuple;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	tuple = modes_is_tuple(&m);
	for (int i = 0; i < m.n; i++)
		m.it[i].open = m.it[i].close = 0;
	if (tuple)
		modes_wrap(&m);
	return modes_finish(out, &m);
}

static bool
tiler_coalesce(Modes *m, const Modes *profile)
{
	Modes r = { .n = 0 };
	int rank = modes_rank(m), named = modes_rank(profile);

	if (!modes_is_tuple(profile)) {
		modes_coalesce(m);
		return true;
	}
	for (int i = 0; i < rank; i++) {
		Modes child, sub;

		if (!modes_get(&child, m, i) ||
		    (i < named && modes_get(&sub, profile, i) && !tiler_coalesce(&child, &sub)) ||
		    !modes_append(&r, &child, false))
			return false;
	}
	modes_wrap(&r);
	*m = r;
	return true;
}

bool
cute_coalesce_by(Layout *out, const Layout *a, const Layout *profile)
{
	Modes m, p;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	modes_from_layout(&p, profile);
	return tiler_coalesce(&m, &p) && modes_finish(out, &m);
}

/* ---- tilers ------------------------------------------------------------------------------------- */

typedef bool (*TilerOp)(Modes *out, const Modes *a, const Modes *b);

/* Apply op to every mode that the tiler reaches; `rest`: keep the modes behind those. */
static bool
tiler_apply(Modes *m, const Tiler *t, TilerOp op, bool rest)
{
	Modes r = { .n = 0 }, b;
	int rank = modes_rank(m);

	if (t->kind == TILE_KEEP)
		return true;
	if (t->kind == TILE_LAYOUT) {
		if (!modes_plain(&t->layout))
			return false;
		modes_from_layout(&b, &t->layout);
		return op(m, m, &b);
	}
	if (t->n > rank)
		return false;
	for (int i = 0; i < (rest ? rank : t->n); i++) {
		Modes child;

		if (!modes_get(&child, m, i) ||
		    (i < t->n && !tiler_apply(&child, &t->kid[i], op, rest)) ||
		    !modes_append(&r, &child, false))
			return false;
	}
	modes_wrap(&r);
	*m = r;
	return true;
}

static bool
tiler_by(Layout *out, const Layout *a, const Tiler *t, TilerOp op, bool rest)
{
	Modes m;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	return tiler_apply(&m, t, op, rest) && modes_finish(out, &m);
}

bool
cute_compose_by(Layout *out, const Layout *a, const Tiler *t)
{
	return tiler_by(out, a, t, modes_compose, false);
}

bool
cute_logical_divide_by(Layout *out, const Layout *a, const Tiler *t)
{
	return tiler_by(out, a, t, modes_logical_divide, true);
}

/* Take the pairs (tile, rest) of a divided layout apart. */
static bool
tiler_unzip(Modes *tile, Modes *rest, const Modes *m, const Tiler *t)
{
	int rank = modes_rank(m);

	tile->n = rest->n = 0;
	if (t->kind != TILE_MODES)
		return rank == 2 && modes_get(tile, m, 0) && modes_get(rest, m, 1);
	for (int i = 0; i < rank; i++) {
		Modes child, a = { .n = 0 }, b;

		if (!modes_get(&child, m, i))
			return false;
		b = child;
		if (i < t->n && !tiler_unzip(&a, &b, &child, &t->kid[i]))
			return false;
		if (!modes_append(tile, &a, false) || !modes_append(rest, &b, false))
			return false;
	}
	modes_wrap(tile);
	modes_wrap(rest);
	return true;
}

bool
cute_zipped_divide(Layout *out, const Layout *a, const Tiler *t)
{
	Modes m, tile, rest;

	if (!modes_plain(a))
		return false;
	modes_from_layout(&m, a);
	if (!tiler_apply(&m, t, modes_logical_divide, true) || !tiler_unzip(&tile, &rest, &m, t) ||
	    !modes_append(&tile, &rest, false))
		return false;
	modes_wrap(&tile);
	return modes_finish(out, &tile);
}

/* ---- products by mode ----------------------------------------------------------------------------- */

static bool
tiler_pad(Modes *m, int rank)
{
	bool ok = true;

	if (m->n && modes_is_tuple(m)) {
		m->it[0].open--;
		m->it[m->n - 1].close--;
	}
	for (int n = rank; n > 0 && ok; n--)
		ok = modes_push(m, 1, 0);
	modes_wrap(m);
	return ok;
}

/* The padding goes again; leaves are not merged. */
static void
tiler_drop_units(Modes *m)
{
	int n = 0;

	for (int i = 0; i < m->n; i++) {
		m->it[i].open = m->it[i].close = 0;
		if (m->it[i].extent > 1)
			m->it[n++] = m->it[i];
	}
	m->n = n;
	if (n == 0)
		modes_push(m, 1, 0);
	if (n > 1)
		modes_wrap(m);
}

static bool
tiler_product(Layout *out, const Layout *a, const Layout *b, bool raked)
{
	Modes ma, mb, pair, copies, r = { .n = 0 };
	int ra, rb;

	if (!modes_plain(a) || !modes_plain(b))
		return false;
	modes_from_layout(&ma, a);
	modes_from_layout(&mb, b);
	ra = modes_rank(&ma);
	rb = modes_rank(&mb);
	if (!tiler_pad(&ma, rb > ra ? rb - ra : 0) || !tiler_pad(&mb, ra > rb ? ra - rb : 0) ||
	    !modes_logical_product(&pair, &ma, &mb) || !modes_get(&ma, &pair, 0) ||
	    !modes_get(&copies, &pair, 1))
		return false;
	for (int i = 0; i < (ra > rb ? ra : rb); i++) {
		Modes one, many;

		if (!modes_get(&one, &ma, i) || !modes_get(&many, &copies, i) ||
		    !(raked ? modes_append(&many, &one, false) : modes_append(&one, &many, false)))
			return false;
		tiler_drop_units(raked ? &many : &one);
		if (!modes_append(&r, raked ? &many : &one, false))
			return false;
	}
	modes_wrap(&r);
	return modes_finish(out, &r);
}

bool
cute_blocked_product(Layout *out, const Layout *a, const Layout *b)
{
	return tiler_product(out, a, b, false);
}

bool
cute_raked_product(Layout *out, const Layout *a, const Layout *b)
{
	return tiler_product(out, a, b, true);
}

/* subtile.c - determines which part of a shared tile an operand is, from its views and reshapes. */
#include "infer/validate/subtile.h"

enum { DEPTH = 16 };

/* Does a view of the tile, or of a reshape with the same first dim, cover all of the other dims? */
static bool
is_whole(const Op *view, const Type *of)
{
	const Type *is = &view->out[0]->type;
	int at = !(IMM(view, dropped) & 1);
	int64_t start;

	for (int d = 1; d < of->rank; d++) {
		bool gone = IMM(view, dropped) >> d & 1;

		if (!val_is_const(view_start(view, d), &start) || start != 0 ||
		    (gone ? 1 : is->shape[at]) < of->shape[d])
			return false;
		at += !gone;
	}
	return true;
}

TilePart
tile_part(Val *v)
{
	Val *tile = view_root(v), *of = tile;
	TilePart p = { .tile = tile };
	const Op *step[DEPTH], *view; /* from v to the tile */
	int n = 0;

	for (Val *at = v; at != tile; at = at->def->in[0]) {
		if (n == DEPTH)
			return p;
		step[n++] = at->def;
	}
	for (; n > 0 && step[n - 1]->code == O_reshape; n--)
		of = step[n - 1]->out[0];
	if (n == 0) { /* all of it, under any shape */
		p.n = tile->type.rank ? tile->type.shape[0] : 1;
		p.whole = true;
		return p;
	}
	view = step[n - 1];
	if (view->code != O_view || !of->type.rank || of->type.shape[0] != tile->type.shape[0])
		return p;
	p.first = view_start(view, 0);
	p.n = IMM(view, dropped) & 1 ? 1 : view->out[0]->type.shape[0];
	p.whole = is_whole(view, &of->type);
	for (int i = 0; i < n - 1; i++)
		p.whole = p.whole && step[i]->code == O_reshape;
	return p;
}

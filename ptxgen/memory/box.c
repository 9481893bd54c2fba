/* box.c - copies of boxes of a tensor map, both ways. */
#include "ptxgen/base/asm.h"
#include "ptxgen/base/speaker.h"
#include "ptxgen/base/word.h"
#include "ptxgen/memory/access.h"
#include "ptxgen/memory/mbar.h"

typedef struct Boxes {
	Op *o;
	const TensorMap *map;
	const Op *view;         /* of the tensor */
	int dim[MAP_RANK_MAX];  /* of the tensor, by dim of the map */
	LV start[MAP_RANK_MAX]; /* i32: where the view begins, likewise */
	Access *tile;
	LV engine, mbar;        /* the map's address, and the barrier's */
} Boxes;

LV
map_address(Gen *g, int i)
{
	LV at;

	asm_emit(g,
	         arena_printf(g->a, "{ .reg .b64 a; mov.b64 a, %s_param_%d; cvta.param.u64 $0, a; }",
	                      g->k->name, g->k->nparam + i),
	         "=l", 0, NULL, 0, &at);
	return at;
}

/* Dims of a map are those of its tensor, the contiguous one, then the others from the last to the first. */
static void
boxes_dims(Gen *g, Boxes *b, Val *mem)
{
	Access *x = access_view(g, NULL, mem);
	int unit = view_operand_dim(b->view, view_unit_dim(g->k, b->view)), n = 1;

	b->dim[0] = unit;
	for (int d = x->root_rank - 1; d >= 0; d--)
		if (d != unit)
			b->dim[n++] = d;
	BUG_IF(g->a, n != b->map->rank);
	for (int i = 0; i < n; i++)
		b->start[i] = LLVMBuildTrunc(g->b, access_start(x, b->dim[i]), g->i32, "");
}

/* "{$3, $4}": operands n, n + 1 and so on, one for each dim. */
static const char *
operand_list(Gen *g, int n, int rank)
{
	Text t = { .arena = g->a };

	for (int i = 0; i < rank; i++)
		text_printf(&t, "%s$%d", i ? ", " : "{", n + i);
	text_printf(&t, "}");
	return t.s;
}

/* The box that begins at `at`, an index of the view. */
static void
one_box(Gen *g, const Boxes *b, const int64_t *at)
{
	int rank = b->map->rank, n = 0;
	const char *text, *cons = "r,l,r,r,r,r,r,r";
	int64_t imm;
	LV in[3 + MAP_RANK_MAX], base;

	access_at(b->tile, at, &base, &imm, NULL);
	in[n++] = LLVMBuildAdd(g->b, base, const_i32(g, imm), "");
	in[n++] = b->engine;
	if (b->mbar)
		in[n++] = b->mbar;
	text = operand_list(g, n, rank);
	if (b->mbar)
		text = arena_printf(g->a,
		                    "cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx"
		                    "::bytes [$0], [$1, %s], [$2];",
		                    rank, text);
	else
		text = arena_printf(g->a,
		                    "cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [$1, %s], [$0];",
		                    rank, text);
	for (int i = 0; i < rank; i++) {
		int r = view_result_dim(b->view, b->dim[i]);

		in[n++] = LLVMBuildAdd(g->b, b->start[i], const_i32(g, r < 0 ? 0 : at[r]), "");
	}
	emit_by(g, speaker(g, g->warps), text, arena_strndup(g->a, cons, (size_t)(2 * n - 1)), in, n);
}

/* Elements of a box along dim r of the view. */
static int64_t
box_extent(const Boxes *b, int r)
{
	for (int i = 0; i < b->map->rank; i++)
		if (view_result_dim(b->view, b->dim[i]) == r)
			return b->map->box[i];
	return 1;
}

void
copy_box(Gen *g, Op *o)
{
	bool out = IMM(o, async) == COPY_OUT;
	Val *mem = o->in[out ? 1 : 0], *part = o->in[out ? 0 : 1];
	int number = op_access(o)->tensor_map - 1;
	Boxes b = { .o = o, .view = mem->def };
	int64_t at[DIM_MAX] = { 0 }, count = 1;

	BUG_IF(g->a, number < 0 || number >= g->k->nmap || g->guard);
	if (IMM(o, multicast)) {
		diag_error(g->u->diag, o->src, "copies to all blocks of a cluster are not emitted yet");
		return;
	}
	b.map = &g->k->map[number];
	gen_flush(g, NULL);
	boxes_dims(g, &b, mem);
	b.engine = map_address(g, number);
	b.mbar = out ? NULL : mbar_address(g, o->in[2], o->in[3]);
	b.tile = access_new(g, NULL, part);
	for (int r = 0; r < mem->type.rank; r++) {
		BUG_IF(g->a, mem->type.shape[r] % box_extent(&b, r));
		count *= mem->type.shape[r] / box_extent(&b, r);
	}
	for (int64_t i = 0; i < count; i++) {
		int64_t rest = i;

		for (int r = mem->type.rank - 1; r >= 0; r--) {
			int64_t extent = box_extent(&b, r), n = mem->type.shape[r] / extent;

			at[r] = rest % n * extent;
			rest /= n;
		}
		one_box(g, &b, at);
	}
}

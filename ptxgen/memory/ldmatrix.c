/* ldmatrix.c - emits ldmatrix and stmatrix: matrices of 8 rows of 16 bytes, between registers and shared
 * memory.
 *
 * For each instance the map specifies the element that lane 8j + r addresses: the first of row r of matrix
 * j. Word j of the instance in lane 0 starts with the element that lane 8j addresses, transposed or not. */
#include "ptxgen/memory/ldmatrix.h"
#include "ptxgen/base/scheduling_barrier.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/memory/store.h"

/* Returns the elements per row. */
static int
row_elems(const Val *v)
{
	return 128 / dtype_info[v->type.dtype].bits;
}

static void
address(const Layout *map, int64_t lane, int64_t reg, int64_t *index)
{
	Coord p = { { 0 } };

	p.at[AX_lane] = lane;
	p.at[AX_reg] = reg;
	layout_index(map, &p, index);
}

static int
instances(Codegen *g, const Val *v, const Layout *map)
{
	int n = (int)layout_cosize(map, AX_reg);

	BUG_IF(g->a, n % row_elems(v));
	return n / row_elems(v);
}

void
matrix_words(Codegen *g, Val *v, const Layout *map, int nmat, int *from)
{
	const Tile *t = tile_of(g, v);

	for (int w = 0; w < t->nword; w++)
		from[w] = -1;
	for (int i = 0; i < instances(g, v, map); i++)
		for (int j = 0; j < nmat; j++) {
			int64_t index[DIM_MAX] = { 0 }, r;

			address(map, 8 * j, (int64_t)i * row_elems(v), index);
			r = tile_reg(g, v, index);
			BUG_IF(g->a, r % t->epw);
			from[r / t->epw] = i * nmat + j;
		}
}

/* Computes the inputs of instance i: its address and immediate. */
static void
instance_address(Codegen *g, const Val *v, const Layout *map, Access *x, int i, LV *in)
{
	int64_t index[DIM_MAX] = { 0 }, imm;

	address(map, 0, (int64_t)i * row_elems(v), index);
	access_at(x, index, &in[0], &imm, NULL);
	in[1] = const_i32(g, imm);
}

void
matrix_store(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x, LV exec)
{
	const Tile *t = tile_of(g, v);
	int nmat = in->bits / 32;
	int *from = arena_alloc(g->a, sizeof *from * (size_t)t->nword);

	BUG_IF(g->a, in->kind != IK_stmatrix);
	matrix_words(g, v, map, nmat, from);
	for (int i = 0; i < instances(g, v, map); i++) {
		LV op[6] = { NULL };

		for (int w = 0; w < t->nword; w++)
			if (from[w] / nmat == i && from[w] >= 0)
				op[from[w] % nmat] = as_i32(g, word_get(g, v, w));
		for (int j = 0; j < nmat; j++)
			BUG_IF(g->a, !op[j]);
		instance_address(g, v, map, x, i, &op[nmat]);
		asm_instr(g, in, op, nmat + 2, exec, NULL);
		if (i + 1 < instances(g, v, map))
			gen_apart(g, v, row_elems(v));
	}
}

void
matrix_load(Codegen *g, const Instr *in, Val *v, const Layout *map, Access *x)
{
	Tile *t = tile_of(g, v);
	int nmat = in->bits / 32, n = instances(g, v, map);
	int *from = arena_alloc(g->a, sizeof *from * (size_t)t->nword);
	LV *raw = lv_array(g, n * nmat);

	BUG_IF(g->a, in->kind != IK_ldmatrix);
	matrix_words(g, v, map, nmat, from);
	for (int i = 0; i < n; i++) {
		LV op[2];

		instance_address(g, v, map, x, i, op);
		asm_instr(g, in, op, 2, NULL, &raw[i * nmat]);
	}
	for (int w = 0; w < t->nword; w++) {
		BUG_IF(g->a, from[w] < 0);
		t->word[w] = word_type(g, t->dtype) == g->f32 ? as_f32(g, raw[from[w]]) : raw[from[w]];
	}
}

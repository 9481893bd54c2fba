/* wgmma.c - emits wgmma instances on named registers, and descriptors of their shared-memory operands.
 *
 * Instances are at multiples of `n` columns, and a warp's 16 rows of them at multiples of 16. Those whose
 * first element belongs to warp 0 are the first warpgroup's; the others do the same at other positions. */
#include "infer/core/wgmma.h"
#include "ptxgen/base/inline_asm.h"
#include "ptxgen/base/named_registers.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/emit.h"
#include "ptxgen/memory/address.h"

typedef struct WgmmaOperandEmit { /* as in the instruction: A is 0, B is 1 */
	Val *v;
	int along;           /* its dim that is m or n of the instruction */
	const LoweredMatrix *matrix; /* width 0: it is in registers */
	Access *x;
	LV stage;            /* i64: offset of its stage from the first, in 16 bytes; NULL: there is one */
	LV base, descriptor; /* i32, and the i64 computed from it; NULL: none yet */
} WgmmaOperandEmit;

typedef struct WgmmaEmit {
	Op *o;
	const Instr *inst;
	bool swap;
	WgmmaOperandEmit f[2];
	Layout c;            /* fragment of the result */
	const Web *web;
	int64_t *at[2];      /* positions of the warpgroup's instances along m and n of the instruction */
	int count[2];
	int from, nk;        /* instances along k */
} WgmmaEmit;

/* Returns the dim of the result that is m (0) or n (1) of the instruction. */
static int
result_dim(const WgmmaEmit *p, int i)
{
	return p->swap ? 1 - i : i;
}

/* Computes the positions of the first warpgroup's instances along m or n of the instruction. */
static void
own_instances(Codegen *g, WgmmaEmit *p, int i, int step)
{
	const Type *t = &p->o->out[0]->type;
	int d = result_dim(p, i);
	int64_t n = t->shape[d] / step, c[DIM_MAX] = { 0 };

	BUG_IF(g->a, t->shape[d] % step);
	p->at[i] = arena_alloc(g->a, sizeof *p->at[i] * (size_t)n);
	for (int64_t k = 0; k < n; k++) {
		Coord at;

		c[d] = k * step;
		at = layout_at(t->layout, c);
		if (at.at[AX_lane] == 0 && at.at[AX_warp] == 0)
			p->at[i][p->count[i]++] = c[d];
	}
	BUG_IF(g->a, p->count[i] == 0);
}

/* Returns the layout of a warpgroup's instances along m or n of the operand: the modes of the result's
 * layout that distinguish warpgroups; the other modes are not used. */
static const Layout *
group_layout(Codegen *g, const WgmmaEmit *p, const WgmmaOperandEmit *f, int i)
{
	const Layout *c = p->o->out[0]->type.layout;
	Layout *l = NEW(g->a, Layout);

	layout_init(l, 2);
	for (int d = 0; d < 2; d++) {
		if (d != f->along) {
			BUG_IF(g->a, !layout_push(l, d, f->v->type.shape[d], 0, AX_reg));
			continue;
		}
		for (Digit x = dim_digits(c, result_dim(p, i)); x.it; digit_next(&x)) {
			int64_t n = x.it->extent, own = n;

			if (x.it->axis == AX_warp)
				own = x.it->stride < WARPGROUP ? min64(n, WARPGROUP / x.it->stride) : 1;
			BUG_IF(g->a, !layout_push(l, d, own, 0, AX_reg));
			BUG_IF(g->a, !layout_push(l, d, n / own, own < n ? own * x.it->stride : 0, AX_warp));
		}
	}
	return l;
}

/* Separates the loop-dependent part of an operand's address: the rest is one descriptor for all
 * iterations. */
static LV
take_stage(Codegen *g, Access *x)
{
	LV n = x->uni;

	if (!n || x->general || x->split)
		return NULL;
	x->uni = x->uni_bytes = NULL;
	n = LLVMBuildLShr(g->b, n, const_i32(g, log2_floor(16 * 8 / dtype_info[x->dtype].bits)), "");
	return LLVMBuildZExt(g->b, n, g->i64, "");
}

static WgmmaEmit
product_new(Codegen *g, Op *o)
{
	const Lowering *w = o->lowering;
	WgmmaEmit p = { .o = o, .inst = instr_of(w), .swap = w && w->dot.swap };
	int64_t from;

	BUG_IF(g->a, !p.inst || p.inst->kind != IK_wgmma || w->dot.rows || w->dot.cols || w->dot.k);
	BUG_IF(g->a, !wgmma_fragment(p.inst, w->dot.n, 2, p.swap, &p.c));
	p.web = file_web(g, o->out[0]);
	for (int i = 0; i < 2; i++) {
		int in = p.swap ? 1 - i : i;
		bool turned = IMM(o, transposed) >> in & 1;
		WgmmaOperandEmit *f = &p.f[i];

		f->v = o->in[in];
		f->along = (in == 0) == turned;
		f->matrix = &w->dot.matrix[i];
		if (f->v->type.space == S_shared)
			f->x = access_plain(g, group_layout(g, &p, f, i), f->v);
		f->stage = f->x ? take_stage(g, f->x) : NULL;
		BUG_IF(g->a, (f->v->type.space == S_shared) != (f->matrix->width != 0));
		own_instances(g, &p, i, i ? w->dot.n : WGMMA_M / WARPGROUP);
	}
	p.nk = (int)(product_part(o, &from) / p.inst->k);
	p.from = (int)(from / p.inst->k);
	return p;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* PTX ISA, "Matrix Descriptor Format": addresses and offsets in units of 16 bytes. */
static int64_t
descriptor_fields(const LoweredMatrix *m)
{
	uint64_t mode = m->width == 128 ? 1 : m->width == 64 ? 2 : m->width == 32 ? 3 : 0;

	return (int64_t)((uint64_t)(m->lead / 16) << 16 | (uint64_t)(m->stride / 16) << 32 | mode << 62);
}

static LV
descriptor_base(Codegen *g, WgmmaOperandEmit *f, LV base)
{
	LLVMBuilderRef b = f->stage ? g->pre : g->b;
	LV x;

	if (f->base == base)
		return f->descriptor;
	x = LLVMBuildLShr(b, LLVMBuildAnd(b, base, const_i32(g, 0x3ffff), ""), const_i32(g, 4), "");
	x = LLVMBuildOr(b, LLVMBuildZExt(b, x, g->i64, ""), const_i64(g, descriptor_fields(f->matrix)), "");
	f->base = base;
	return f->descriptor = f->stage ? LLVMBuildAdd(g->b, x, f->stage, "") : x;
}

/* Returns the descriptor of the operand for the instance at `at` along m or n, and at k, as i64. */
static LV
descriptor(Codegen *g, WgmmaOperandEmit *f, int64_t at, int64_t k)
{
	int64_t index[DIM_MAX] = { 0 }, imm;
	LV base;

	index[f->along] = at;
	index[1 - f->along] = k;
	access_at(f->x, index, &base, &imm, NULL);
	BUG_IF(g->a, imm % 16);
	return LLVMBuildAdd(g->b, descriptor_base(g, f, base), const_i64(g, imm / 16), "");
}

/* Returns "{hx_f0, hx_f1}": the warpgroup's registers of fragment l at (m, n) of a tile in a web. */
static const char *
register_list(Codegen *g, const Web *web, const Layout *l, const Type *t, const int64_t *from)
{
	int each = dtype_per_word(t->dtype), n = (int)layout_cosize(l, AX_reg) / each;
	Text text = { .arena = g->a };

	for (int w = 0; w < n; w++) {
		Coord p = { { 0 } };
		int64_t at[DIM_MAX] = { 0 }, r;

		p.at[AX_reg] = (int64_t)w * each;
		layout_index(l, &p, at);
		for (int d = 0; d < 2; d++)
			at[d] += from[d];
		r = layout_at(t->layout, at).at[AX_reg];
		BUG_IF(g->a, r % each);
		text_printf(&text, "%s%s", w ? ", " : "{", web_name(g, web, (int)(r / each)));
	}
	text_printf(&text, "}");
	return text.s;
}

/* Returns the registers of the register operand at m and k. */
static const char *
factor_list(Codegen *g, const WgmmaEmit *p, int64_t m, int64_t k)
{
	const WgmmaOperandEmit *f = &p->f[0];
	Layout l;
	int64_t from[2] = { 0, 0 };

	BUG_IF(g->a, !wgmma_fragment(p->inst, p->o->lowering->dot.n, p->swap ? 1 : 0, p->swap, &l));
	from[f->along] = m;
	from[1 - f->along] = k;
	return register_list(g, g->factor[f->v->id], &l, &f->v->type, from);
}

/* ---- instances ------------------------------------------------------------------------------- */

/* Returns scale-d: "0", "1", or $i for the op's scalar that specifies it. */
static const char *
adds(Codegen *g, const WgmmaEmit *p, int k, int i)
{
	if (k > 0)
		return "1";
	if (val_is_zero(mma_acc(p->o)))
		return "0";
	return p->o->nin == 4 ? arena_printf(g->a, "$%d", i) : "1";
}

static void
instance(Codegen *g, WgmmaEmit *p, int i, int j, int k)
{
	int64_t m = p->at[0][i], n = p->at[1][j], from[2], kk = (int64_t)k * p->inst->k;
	const char *a, *d, *add, *cons;
	LV in[3];
	int nin = 0;

	from[result_dim(p, 0)] = m;
	from[result_dim(p, 1)] = n;
	if (p->f[0].x) {
		a = "$0";
		in[nin++] = descriptor(g, &p->f[0], m, kk);
	} else {
		a = factor_list(g, p, m, kk);
	}
	in[nin++] = descriptor(g, &p->f[1], n, kk);
	add = adds(g, p, k, nin);
	cons = nin == 2 ? "l,l" : "l";
	if (add[0] == '$') {
		cons = arena_printf(g->a, "%s,b", cons);
		in[nin++] = scalar_get(g, wgmma_keeps_acc(p->o));
	}
	d = register_list(g, p->web, &p->c, &p->o->out[0]->type, from);
	asm_emit(g, wgmma_text(g->a, p->o->lowering, d, a, p->f[0].x ? "$1" : "$0", add), cons,
	         AF_MEM | AF_WARP, in, nin, NULL);
}

void
emit_wgmma(Codegen *g, Op *o)
{
	WgmmaEmit p = product_new(g, o);

	g->s->products = true;
	file_written(g);
	tile_new(g, o->out[0]);
	for (int k = p.from; k < p.from + p.nk; k++)
		for (int i = 0; i < p.count[0]; i++)
			for (int j = 0; j < p.count[1]; j++)
				instance(g, &p, i, j, k);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static LV *
words_of(Codegen *g, Val *v)
{
	Tile *t = tile_of(g, v);
	LV *word = lv_array(g, t->nword);

	for (int w = 0; w < t->nword; w++)
		word[w] = word_get(g, v, w);
	return word;
}

/* Copies the register operand of o, of which it may multiply only a k slice, to its named registers. */
static void
put_factor(Codegen *g, const Op *o, Val *v)
{
	const Tile *t = tile_of(g, v);
	int along = v == mma_a(o) ? 1 : 0;
	int64_t from, n = product_part(o, &from);
	LV *word = lv_array(g, t->nword);

	for (int w = 0; w < t->nword; w++) {
		int64_t at[DIM_MAX];

		tile_index(t, (int64_t)w * t->epw, at);
		if (at[along] >= from && at[along] < from + n)
			word[w] = word_get(g, v, w);
	}
	web_put(g, g->factor[v->id], word);
}

/* Copies operands of the MMAs after the fence to named registers, before the fence. */
static void
put_operands(Codegen *g, const Op *fence)
{
	for (Op *o = fence->next; o && o->code != O_wgmma_fence; o = o->next) {
		Val *held = product_factor(o);
		const Web *web;

		if (o->code != O_wgmma)
			continue;
		web = file_web(g, o->out[0]);
		if (file_web(g, mma_acc(o)) != web && !val_is_zero(mma_acc(o)))
			web_put(g, web, words_of(g, mma_acc(o)));
		if (held)
			put_factor(g, o, held);
	}
}

void
emit_wgmma_fence(Codegen *g, Op *o)
{
	put_operands(g, o);
	asm_op(g, A_wg_fence, NULL, NULL, NULL);
}

void
emit_wgmma_commit(Codegen *g, Op *o)
{
	(void)o;
	asm_op(g, A_wg_commit, NULL, NULL, NULL);
}

void
emit_wgmma_wait(Codegen *g, Op *o)
{
	gen_flush(g, NULL);
	asm_op(g, A_wg_wait, const_i32(g, IMM(o, pending)), NULL, NULL);
}

/* cost.c - predicted cycles of one block alone on one SM.
 *
 * Every op uses resources: tensor cores, shared memory (wavefronts), global memory (sectors), arithmetic and
 * issue slots.  A straight piece of code takes as long as its busiest resource, plus what cannot overlap
 * (barriers, the latency of a dependent step).  Loops multiply by their trips.  It ranks; it is not exact.
 *
 * Constants, sm_80 (one table until others are measured):
 *   tensor cores   a row's issue cycles on each of the four quarters of an SM (infer/instr.def)
 *   shared memory  one wavefront of 128 bytes a cycle
 *   global memory  one 32-byte sector a cycle: 64 bytes a cycle of L2 bandwidth shared by loads and stores
 *   arithmetic     2 warp-instructions a cycle (64 f32 lanes);  issue 4 a cycle
 *   latencies      reference figures of micro-benchmarks as cited in the Hexcute paper */
#include "infer/solve.h"

#define QUARTERS 4.0
#define SECTOR_CYCLES 1.0
#define UPDATE_SECTORS 2.0 /* an update at L2 reads and writes */
#define ALU_PER_CYCLE 2.0
#define ISSUE_PER_CYCLE 4.0
#define BARRIER_CYCLES 25.0
#define SHARED_LATENCY 30.0
#define GLOBAL_LATENCY 470.0 /* to DRAM, sm_80 */
#define RARELY 0.5 /* the other branch: ours are fast ways first, and guards are mostly taken */

void
res_add(Res *r, const Res *x, double times)
{
	r->mma += x->mma * times;
	r->smem += x->smem * times;
	r->gmem += x->gmem * times;
	r->alu += x->alu * times;
	r->issue += x->issue * times;
	r->latency += x->latency * times;
}

double
res_cycles(const Res *r)
{
	double t = r->mma;

	t = r->smem > t ? r->smem : t;
	t = r->gmem > t ? r->gmem : t;
	t = r->alu / ALU_PER_CYCLE > t ? r->alu / ALU_PER_CYCLE : t;
	t = r->issue / ISSUE_PER_CYCLE > t ? r->issue / ISSUE_PER_CYCLE : t;
	/* what is not the bottleneck still gets in its way a little */
	return t + r->latency + 0.1 * (r->mma + r->smem + r->gmem + (r->alu + r->issue) / ISSUE_PER_CYCLE);
}

static bool
acts(const Layout *l, int64_t lane, int64_t warp)
{
	for (int i = 0; i < l->nrep; i++) {
		const Iter *r = &l->rep[i];
		int64_t at = r->axis == AX_lane ? lane : r->axis == AX_warp ? warp
		                                                            : 0;
		if (at / r->stride % r->extent)
			return false;
	}
	return true;
}

int64_t
global_sectors(const Solve *s, const Op *view, const Layout *map, int vec, int bits, bool write)
{
	int unit = view ? view_unit_dim(s->k, view) : -1, n = 0;
	int64_t ninst = layout_cosize(map, AX_reg) / vec, sectors = 0;
	int64_t seen[32];

	/* instances differ by constants: the first stands for all;  rows other than the contiguous dim
	 * never share a sector */
	for (int lane = 0; lane < WARP_SIZE; lane++) {
		Place p = { .at = { 0 } };
		int64_t c[DIM_MAX] = { 0 }, key;
		int j;

		p.at[AX_lane] = lane;
		if (write && !acts(map, lane, 0))
			continue;
		layout_coord(map, &p, c);
		key = unit >= 0 ? c[unit] * bits / 8 / 32 : 0;
		for (int d = 0; d < map->ndim; d++)
			if (d != unit)
				key = key * 4096 + c[d];
		for (j = 0; j < n && seen[j] != key; j++)
			;
		if (j == n)
			seen[n++] = key;
	}
	sectors = n;
	if ((int64_t)vec * bits > 256)
		sectors *= (int64_t)vec * bits / 256;
	for (int w = 1, first = n; w < s->k->warps; w++)
		if (!write || acts(map, 0, w))
			sectors += first;
	return sectors * ninst;
}

static int64_t
words_of(const Layout *l, int bits)
{
	return (layout_cosize(l, AX_reg) * bits + 31) / 32;
}

/* Instructions per 32-bit word of result: rough, by kind of op. */
static double
alu_weight(const Op *o)
{
	switch (o->code) {
	case O_exp:
	case O_exp2:
	case O_log:
	case O_sqrt:
	case O_rsqrt:
	case O_tanh:
		return 8; /* special function unit: a quarter of the lanes, and its fix-up */
	case O_div:
	case O_mod:
		return 16;
	case O_cast:
		return dtype_info[o->in[0]->type.dtype].bits < 8 ? 1.5 : 1;
	case O_unpack:
	case O_transpose:
	case O_slice:
	case O_concat:
	case O_broadcast:
	case O_bitcast:
	case O_const:
	case O_splat:
	case O_hold:
	case O_relayout:
		return 0;
	default:
		return 1;
	}
}

static void
price_memory(Solve *s, Op *o, Res *r)
{
	const Pick *p = s->sol->pick[o->id];
	Val *mem = o->code == O_load ? o->in[0] : o->code == O_copy ? o->in[0]
	                                                            : o->in[1];
	const Layout *map = p->map ? p->map : o->code == O_load ? result(s, o, 0)
	                                                        : operand(s, o, 0);
	int bits = dtype_info[mem->type.dtype].bits;
	double inst = (double)(layout_cosize(map, AX_reg) / p->vec) * s->k->warps;

	r->issue += inst;
	if (o->code == O_load && p->vec * bits < 32) { /* what is narrower than a word gets packed */
		double pack = inst * (1 - p->vec * bits / 32.0);
		r->alu += pack;
		r->issue += pack;
	}
	if (mem->type.space == S_global) {
		double times = o->code == O_store && o->imm[0] ? UPDATE_SECTORS : 1;

		r->gmem += times * SECTOR_CYCLES *
		           (double)global_sectors(s, mem->def, map, p->vec, bits, o->code == O_store);
		r->smem += inst; /* the load-store unit takes one request a cycle */
		r->latency += o->code == O_load ? 100 : 0;
	} else {
		r->latency += SHARED_LATENCY / 4;
	}
}

static void
price_dot(Solve *s, Op *o, Res *r)
{
	const Instr *in = s->sol->pick[o->id] ? instr_find(s->sol->pick[o->id]->inst) : NULL;
	const int64_t *a = o->in[0]->type.shape, *c = o->out[0]->type.shape;
	const Layout *lc = s->sol->val[o->out[0]->id];
	double work = (double)c[0] * (double)c[1] * (double)a[1], copies = 1;

	for (int i = 0; i < lc->nrep; i++) /* warps that repeat the work */
		copies *= (double)lc->rep[i].extent;
	work *= copies;
	if (in && in->kind == IK_mma) {
		double instances = work / ((double)in->m * in->n * in->k);
		r->mma += instances * in->issue / QUARTERS;
		r->issue += instances * 2;
	} else {
		r->alu += work / WARP_SIZE;
		r->issue += work / WARP_SIZE;
	}
	r->latency += 16;
}

static void
price(Solve *s, Op *o)
{
	Res *r = &s->sol->res[o->id];
	double w = s->k->warps;

	if (o->code == O_load && o->out[0]->type.space == S_scalar)
		r->latency += o->in[0]->type.space == S_global ? GLOBAL_LATENCY : SHARED_LATENCY;
	else if (o->code == O_load || o->code == O_store || o->code == O_copy)
		price_memory(s, o, r);
	else if (o->code == O_dot)
		price_dot(s, o, r);
	else if (o->code == O_barrier || o->code == O_wait)
		r->latency += BARRIER_CYCLES;
	else if (o->nout == 1 && o->out[0]->type.space == S_reg && op_info[o->code].flags & F_PURE) {
		const Layout *l = s->sol->val[o->code == O_reduce_sum || o->code == O_reduce_max ||
		                                              o->code == O_reduce_min
		                                      ? o->in[0]->id
		                                      : o->out[0]->id];
		double n = w * (double)words_of(l, dtype_info[o->out[0]->type.dtype].bits) * alu_weight(o);
		r->alu += n;
		r->issue += n;
	}
}

/* Cross-warp reductions need a place to meet. */
static void
price_reduce(Solve *s, Op *o)
{
	Res *r = &s->sol->res[o->id];
	const Layout *in = operand(s, o, 0);
	int d = (int)o->imm[0];
	int bits = dtype_info[o->out[0]->type.dtype].bits;
	double words = (double)words_of(s->sol->val[o->out[0]->id], bits < 32 ? 32 : bits) * s->k->warps;

	for (int i = in->first[d]; i < in->first[d + 1]; i++) {
		const Iter *it = &in->it[i];
		if (it->axis == AX_lane) {
			for (int64_t e = it->extent; e > 1; e /= 2) {
				r->smem += words;
				r->issue += 2 * words;
				r->latency += 30;
			}
		} else if (it->axis == AX_warp) {
			r->smem += 2 * words * (double)it->extent;
			r->issue += 2 * words * (double)it->extent;
			r->latency += 2 * BARRIER_CYCLES + 50;
		}
	}
}

static Res
block_res(Solve *s, Block *b, double *nested)
{
	Res sum = { 0 };

	for (Op *o = b->first; o; o = o->next) {
		if (o->code == O_for) {
			double inner = 0, trips = s->weight[o->blk[0]->last->id] / s->weight[o->id];
			Res body = block_res(s, o->blk[0], &inner);
			*nested += trips * (res_cycles(&body) + inner);
		} else if (o->code == O_if) {
			for (int i = 0; i < 2; i++) {
				Res branch = block_res(s, o->blk[i], nested);
				res_add(&sum, &branch, i ? RARELY : 1);
			}
		}
		res_add(&sum, &s->sol->res[o->id], 1);
	}
	return sum;
}

void
cost_of(Solve *s)
{
	Res top;
	double nested = 0;

	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		price(s, o);
		if (o->code == O_reduce_sum || o->code == O_reduce_max || o->code == O_reduce_min)
			price_reduce(s, o);
	}
	top = block_res(s, s->k->body, &nested);
	s->sol->cycles = res_cycles(&top) + nested;
}

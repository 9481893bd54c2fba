/* module_serialize.c - serializes a module, field by field, in file order: hexc-module(5). */
#include "lib/rt/module_serialize.h"
#include "hexc/ir/pack.h"
#include <string.h>

enum { LIST_MOST = 1 << 24 }; /* maximum elements of lists without another limit */

/* When reading, allocates the n elements of a list. */
#define LIST(w, list, T, n) \
	do { \
		if ((w)->arena) \
			(list) = NEWN((w)->arena, T, n); \
	} while (0)

/* Serializes a text that must not be NULL. */
static void
wire_name(Wire *w, const char **s)
{
	wire_text(w, s);
	if (w->arena && !*s) {
		wire_bad(w, "a name is missing");
		*s = "";
	}
}

/* ---- expressions ------------------------------------------------------------------------------ */

static void
wire_op(Wire *w, ExprNode *n)
{
	const char *name = w->arena ? NULL : n->op == O_none ? "" : op_info[n->op].name;

	wire_name(w, &name);
	if (!w->arena)
		return;
	n->op = *name ? op_find(name, strlen(name)) : O_none;
	if (*name && n->op != O_const && !expr_op_known(n->op))
		wire_bad(w, "an expression has an operation unknown to this hexc");
}

/* Serializes node i, whose operands precede it. */
static void
wire_node(Wire *w, ExprNode *n, int i, int nparam)
{
	int nin;

	wire_op(w, n);
	wire_dtype(w, &n->dtype);
	if (dtype_is_float(n->dtype))
		wire_bad(w, "an expression is of a float type");
	wire_i64(w, &n->imm, INT64_MIN, INT64_MAX);
	if (n->op == O_none && (n->imm < 0 || n->imm >= nparam))
		wire_bad(w, "an expression refers to a parameter that does not exist");
	nin = w->why || n->op == O_none || n->op == O_const ? 0 : op_info[n->op].nin;
	for (int j = 0; j < 3; j++)
		if (j < nin)
			wire_int(w, &n->in[j], 0, i - 1);
		else
			n->in[j] = -1;
}

static void
wire_expr(Wire *w, ExprTable *t, int nparam)
{
	wire_count(w, &t->n, EXPR_MAX);
	LIST(w, t->node, ExprNode, t->n);
	for (int i = 0; i < t->n; i++)
		wire_node(w, &t->node[i], i, nparam);
}

/* Serializes a node reference and its text. */
static void
wire_ref(Wire *w, const ModKernel *k, ExprRef *e, const char **text)
{
	wire_int(w, e, 0, k->expr.n - 1);
	if (text)
		wire_name(w, text);
}

/* ---- parameters ------------------------------------------------------------------------------- */

/* Parses a pack like hexc_pack, and stores it as compilation does. */
static void
read_pack(Wire *w, ModParam *p)
{
	Pack *pack = NEW(w->arena, Pack);
	const char *why = NULL;

	if (!pack_parse(w->arena, p->pack, strlen(p->pack), pack, &why) || pack->dtype != p->dtype ||
	    p->rank < 2) {
		wire_bad(w, "a tensor's pack does not match it");
		return;
	}
	pack->layout = NULL;
	p->packed = pack;
}

static void
wire_tensor(Wire *w, const ModKernel *k, ModParam *p)
{
	wire_int(w, &p->rank, 0, HEXC_MAX_RANK);
	wire_bool(w, &p->read);
	wire_bool(w, &p->written);
	for (int d = 0; d < p->rank; d++) {
		wire_ref(w, k, &p->dim[d], &p->dim_text[d]);
		wire_ref(w, k, &p->stride[d], &p->stride_text[d]);
	}
	wire_text(w, &p->pack);
	if (w->arena && p->pack && !w->why)
		read_pack(w, p);
}

static void
wire_param(Wire *w, const ModKernel *k, ModParam *p)
{
	int kind = (int)p->kind;

	wire_name(w, &p->name);
	wire_dtype(w, &p->dtype);
	wire_int(w, &kind, 0, HEXC_NKINDS - 1);
	p->kind = (hexc_kind)kind;
	if (p->kind == HEXC_POINTER) {
		wire_tensor(w, k, p);
		return;
	}
	wire_bool(w, &p->read);
	wire_bool(w, &p->written);
	wire_i64(w, &p->mult, INT64_MIN, INT64_MAX);
	wire_i64(w, &p->lo, INT64_MIN, INT64_MAX);
	wire_i64(w, &p->hi, INT64_MIN, INT64_MAX);
}

static void
wire_assume(Wire *w, const ModKernel *k, ModAssume *as)
{
	int what = as->what;

	wire_name(w, &as->text);
	wire_int(w, &as->param, -1, k->nparam - 1);
	wire_int(w, &what, 0, 127);
	as->what = (char)what;
	if (as->param < 0)
		wire_ref(w, k, &as->cond, NULL);
	else if (w->arena && !w->why && as->what == '%' && k->param[as->param].mult < 1)
		wire_bad(w, "a size's divisor is less than 1");
}

/* ---- tensor maps ------------------------------------------------------------------------------ */

static bool
map_fits(const ModKernel *k, const ModMap *map)
{
	int bits = dtype_info[map->dtype].bits;
	bool swizzle = map->swizzle == 0 || (map->swizzle >= 32 && is_pow2(map->swizzle));
	bool l2 = map->l2 == 0 || (map->l2 >= 64 && is_pow2(map->l2));

	return k->param[map->param].kind == HEXC_POINTER && bits >= 8 && swizzle && l2;
}

static void
wire_map(Wire *w, const ModKernel *k, ModMap *map)
{
	wire_int(w, &map->param, 0, k->nparam - 1);
	wire_dtype(w, &map->dtype);
	wire_int(w, &map->rank, 1, MAP_RANK_MAX);
	wire_int(w, &map->swizzle, 0, 128);
	wire_int(w, &map->l2, 0, 256);
	wire_bool(w, &map->optional);
	if (w->arena && !w->why && !map_fits(k, map))
		wire_bad(w, "a tensor map does not match its tensor");
	map->stride[0] = -1;
	for (int d = 0; d < map->rank; d++) {
		wire_i64(w, &map->box[d], 1, 256);
		wire_ref(w, k, &map->dim[d], &map->dim_text[d]);
		if (d)
			wire_ref(w, k, &map->stride[d], &map->stride_text[d]);
		else
			map->stride_text[d] = "1";
	}
}

/* ---- kernels ---------------------------------------------------------------------------------- */

static void
wire_tunable(Wire *w, Tunable *t)
{
	int64_t *choice = NULL;

	wire_name(w, &t->name);
	wire_i64(w, &t->value, INT64_MIN, INT64_MAX);
	wire_i64(w, &t->preset, INT64_MIN, INT64_MAX);
	wire_count(w, &t->nchoice, LIST_MOST);
	if (w->arena)
		t->choice = choice = NEWN(w->arena, int64_t, t->nchoice);
	for (int i = 0; i < t->nchoice; i++) {
		int64_t x = w->arena ? 0 : t->choice[i];

		wire_i64(w, &x, INT64_MIN, INT64_MAX);
		if (choice)
			choice[i] = x;
	}
}

/* Serializes constants and tunables with their choices. */
static void
wire_constants(Wire *w, ModKernel *k)
{
	wire_count(w, &k->nconstants, LIST_MOST);
	LIST(w, k->constants, hexc_define, k->nconstants);
	for (int i = 0; i < k->nconstants; i++) {
		wire_name(w, &k->constants[i].name);
		wire_i64(w, &k->constants[i].value, INT64_MIN, INT64_MAX);
	}
	wire_count(w, &k->ntunable, LIST_MOST);
	LIST(w, k->tunable, Tunable, k->ntunable);
	for (int i = 0; i < k->ntunable; i++)
		wire_tunable(w, &k->tunable[i]);
	wire_count(w, &k->ncondition, LIST_MOST);
	LIST(w, k->condition, const char *, k->ncondition);
	for (int i = 0; i < k->ncondition; i++)
		wire_name(w, &k->condition[i]);
}

static void
wire_candidates(Wire *w, ModKernel *k)
{
	wire_int(w, &k->candidate, 0, INT32_MAX);
	wire_count(w, &k->ncand, LIST_MOST);
	LIST(w, k->cand, ModCand, k->ncand);
	for (int i = 0; i < k->ncand; i++) {
		ModCand *c = &k->cand[i];

		wire_f64(w, &c->cycles);
		wire_f64(w, &c->alone);
		wire_int(w, &c->registers, INT32_MIN, INT32_MAX);
		wire_int(w, &c->together, INT32_MIN, INT32_MAX);
		wire_name(w, &c->text);
	}
}

/* Serializes a loop without a constant trip count. */
static void
wire_loop(Wire *w, ModKernel *k, int i)
{
	ModLoop *l = &k->turns.loop[i];
	ExprRef *bound[] = { &l->lo, &l->hi, &l->step };

	wire_int(w, &l->in, -1, i - 1);
	wire_bool(w, &l->by_sizes);
	for (size_t b = 0; b < COUNT_OF(bound) && l->by_sizes; b++)
		wire_ref(w, k, bound[b], NULL);
	wire_f64(w, &l->turns);
	wire_f64(w, &l->most);
	if (w->arena && !w->why && !(l->turns > 0))
		wire_bad(w, "a loop has no iterations");
}

/* Serializes the predicted cycles as a function of trip counts. */
static void
wire_turns(Wire *w, ModKernel *k)
{
	ModTurns *t = &k->turns;

	wire_bool(w, &t->known);
	wire_count(w, &t->nloop, TURNS_LOOPS_MOST);
	LIST(w, t->loop, ModLoop, t->nloop);
	for (int i = 0; i < t->nloop; i++)
		wire_loop(w, k, i);
	wire_count(w, &t->nway, TURNS_WAYS_MOST);
	LIST(w, t->way, ModWay, t->nway);
	for (int i = 0; i < t->nway; i++) {
		wire_bool(w, &t->way[i].alone);
		wire_f64(w, &t->way[i].fixed);
		LIST(w, t->way[i].each, double, t->nloop);
		for (int l = 0; l < t->nloop; l++)
			wire_f64(w, &t->way[i].each[l]);
	}
}

/* Serializes the launch configuration. */
static void
wire_shape(Wire *w, ModKernel *k, int version)
{
	wire_int(w, &k->warps, 1, 1024 / WARP_SIZE);
	for (int d = 0; d < 3; d++)
		wire_int(w, &k->cluster[d], 1, 16);
	wire_i64(w, &k->smem, 0, INT32_MAX);
	wire_i64(w, &k->order.group, 0, GROUP_MOST);
	wire_int(w, &k->order.fast, 0, GRID_OTHERS_DOWN);
	wire_int(w, &k->order.slow, 0, 2);
	wire_bool(w, &k->persistent);
	wire_bool(w, &k->pdl);
	if (version > MODULE_WITHOUT_COOPERATIVE)
		wire_bool(w, &k->cooperative);
}

static void
wire_kernel(Wire *w, ModKernel *k, int version)
{
	wire_name(w, &k->name);
	wire_shape(w, k, version);
	wire_count(w, &k->nparam, HEXC_MAX_PARAMS);
	wire_expr(w, &k->expr, k->nparam);
	LIST(w, k->param, ModParam, k->nparam);
	for (int i = 0; i < k->nparam; i++)
		wire_param(w, k, &k->param[i]);
	for (int d = 0; d < 3; d++)
		wire_ref(w, k, &k->grid[d], &k->grid_text[d]);
	wire_count(w, &k->nassume, LIST_MOST);
	LIST(w, k->assume, ModAssume, k->nassume);
	for (int i = 0; i < k->nassume; i++)
		wire_assume(w, k, &k->assume[i]);
	wire_count(w, &k->nmap, HEXC_MAX_PARAMS - k->nparam);
	LIST(w, k->map, ModMap, k->nmap);
	for (int i = 0; i < k->nmap; i++)
		wire_map(w, k, &k->map[i]);
	wire_constants(w, k);
	wire_candidates(w, k);
	if (version > MODULE_WITHOUT_TURNS)
		wire_turns(w, k);
	if (w->arena) {
		k->explain = k->explain_short = "";
		k->json = "{}";
	}
}

static void
wire_target(Wire *w, hexc_module *m)
{
	const char *name = w->arena ? NULL : m->target->name;

	wire_name(w, &name);
	if (w->arena && !(m->target = target_find(name)))
		wire_bad(w, "it is for an architecture unknown to this hexc");
}

void
wire_module(Wire *w, hexc_module *m, int version)
{
	const void *ptx = m->ptx;

	wire_target(w, m);
	wire_name(w, &m->file);
	wire_u64(w, &m->digest);
	wire_bytes(w, &ptx, &m->nptx);
	m->ptx = ptx;
	wire_count(w, &m->ncubin, LIST_MOST);
	LIST(w, m->cubin, hexc_cubin, m->ncubin);
	for (int i = 0; i < m->ncubin; i++) {
		wire_name(w, &m->cubin[i].arch);
		wire_bytes(w, &m->cubin[i].data, &m->cubin[i].bytes);
	}
	wire_count(w, &m->nkernel, HEXC_MAX_KERNELS);
	LIST(w, m->kernel, ModKernel, m->nkernel);
	for (int i = 0; i < m->nkernel; i++)
		wire_kernel(w, &m->kernel[i], version);
}

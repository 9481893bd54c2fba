/* apply.c - writes the selected solution into the IR: layouts into types, lowerings onto ops, and convert
 * ops where an operand requires another layout than its value has. */
#include "infer/core/smem_atom.h"
#include "infer/core/fragment_prefetch.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search.h"
#include <string.h>

static Val *
convert_val(Solve *s, Block *b, Op *at, Src src, Val *v, const Layout *to, Lowering *how)
{
	Type t = v->type;
	Op *o;

	t.layout = to;
	o = op_new(b, at, O_convert_layout, src, 1, &v, 1, &t);
	o->lowering = how;
	(void)s;
	return o->out[0];
}

/* Returns the op before which the result of o is available: right after o, or for wgmma after its wait. */
Op *
result_place(const Op *o)
{
	int commits = 0;

	for (Op *x = o->next; x && o->code == O_wgmma; x = x->next) {
		commits += x->code == O_wgmma_commit;
		if (x->code == O_wgmma_wait && IMM(x, pending) < commits)
			return x->next;
	}
	return o->next;
}

/* Inserts the conversion of a result that o produces in another layout than its readers expect. */
static void
convert_result(Solve *s, const LayoutSolution *sol, Op *o, int i)
{
	Val *v = o->out[i];
	Type t = v->type;
	Op *c;

	c = op_new(o->parent, result_place(o), O_convert_layout, o->src, 1, &v, 1, &t);
	val_replace(s->k, v, c->out[0]);
	c->in[IN_op_source] = v; /* val_replace() has replaced this use too */
	c->out[0]->type.layout = sol->val[v->id];
	c->lowering = sol->mconv[o->id][i];
	v->type.layout = sol->made[o->id][i];
	for (int u = 0; u < s->nuse[v->id]; u++) { /* readers of the unconverted layout */
		const OperandUse *use = &s->use[v->id][u];
		if (sol->want[use->op->id][use->i] && !sol->conv[use->op->id][use->i])
			use->op->in[use->i] = v;
	}
}

/* Returns the tile's layout under another shape; NULL: no access uses it so. */
static const Layout *
alias_layout(Solve *s, Val *v)
{
	Layout *l = NEW(s->arena, Layout);
	const Layout *of = view_root(v)->type.layout;

	return of && layout_reshape(l, of, v->type.rank, v->type.shape) ? l : NULL;
}

static void
set_layouts(Solve *s, const LayoutSolution *sol, Block *b)
{
	for (int i = 0; i < b->narg; i++)
		if (b->arg[i]->type.space == S_reg)
			b->arg[i]->type.layout = sol->val[b->arg[i]->id];
	for (Op *o = b->first; o; o = o->next) {
		for (int i = 0; i < o->nout; i++)
			o->out[i]->type.bit_order = sol->bit_order[o->out[i]->id];
		for (int i = 0; i < o->nout; i++)
			if (o->out[i]->type.space == S_reg || o->code == O_alloc)
				o->out[i]->type.layout = sol->val[o->out[i]->id];
		if (o->nout == 1 && val_is_alias(o->out[0]))
			o->out[0]->type.layout = alias_layout(s, o->out[0]);
		for (int i = 0; i < 2; i++)
			if (o->blk[i])
				set_layouts(s, sol, o->blk[i]);
	}
}

static bool
is_shared_load(const Op *o)
{
	return o->code == O_load && load_source(o)->type.space == S_shared;
}

/* Returns `at`, or the first of the shared loads before it: the emitter keeps all that is loaded before a
 * synchronization in registers meanwhile. */
static Op *
in_front_of_loads(Op *at, const Val *v)
{
	Op *first = at;

	for (Op *o = at->prev; o && o != v->def && (op_is(o, F_PURE) || is_shared_load(o)); o = o->prev)
		if (is_shared_load(o))
			first = o;
	return first;
}

/* Returns o; for a wgmma its fence if v is defined before that, as nothing may write its registers after the
 * fence. */
static Op *
place_before(Op *o, const Val *v)
{
	Op *fence = o->code == O_wgmma ? product_fence(o) : NULL, *x = o;

	while (fence && x != fence && x != v->def)
		x = x->prev;
	return fence && x == fence ? fence : o;
}

/* Returns the op before which operand v of o is converted: o itself; for indices that do not change in loops
 * around o, the outermost such loop. */
Op *
convert_place(Op *o, const Val *v, const Lowering *how)
{
	Op *at = place_before(o, v);

	if (lowering_is_staged(how))
		return in_front_of_loads(at, v);
	if (o->code != O_view)
		return at;
	for (const Block *b = o->parent; b != v->block && b->owner && b->owner->code == O_for;
	     b = b->owner->parent)
		at = b->owner;
	return at;
}

/* Conversions of one value that are already in the IR. */
typedef struct Placed {
	const Lowering *how;
	Val *v;
	const struct Placed *next;
} Placed;

/* Returns operand j of o in the layout that o requires. */
static Val *
converted(Solve *s, const LayoutSolution *sol, const Placed **placed, Op *o, int j)
{
	Val *v = o->in[j];
	Lowering *how = sol->conv[o->id][j];
	Placed *new;
	Op *at;

	for (const Placed *p = placed[v->id]; p; p = p->next)
		if (p->how == how)
			return p->v;
	at = convert_place(o, v, how);
	new = NEW(s->arena, Placed);
	*new = (Placed){ how, convert_val(s, at->parent, at, o->src, v, sol->want[o->id][j], how),
		         placed[v->id] };
	placed[v->id] = new;
	return new->v;
}

/* Marks the loops for pass prefetch_fragments.  Runs before the IR contains anything that the solution does
 * not describe. */
static void
ask_rotate(const Solve *s, const LayoutSolution *sol)
{
	for (int i = 0; i < s->norder; i++) {
		Rotate r = { .k = s->k, .sol = sol, .loop = s->order[i] };

		if (r.loop->code == O_for)
			IMM_SET(r.loop, prefetch, sol->rotate && rotate_find(&r));
	}
}

static bool
same_map(const TensorMap *a, const TensorMap *b)
{
	return a->param == b->param && a->dtype == b->dtype && a->rank == b->rank &&
	       a->swizzle == b->swizzle && a->l2 == b->l2 &&
	       memcmp(a->box, b->box, sizeof *a->box * (size_t)a->rank) == 0;
}

/* Returns the number, from 1, of the kernel's tensor map equal to m, which is added if missing. */
static int
map_number(Solve *s, const TensorMap *m)
{
	Kernel *k = s->k;

	for (int i = 0; i < k->nmap; i++)
		if (same_map(&k->map[i], m))
			return i + 1;
	k->map = arena_grow(s->arena, k->map, (size_t)k->nmap, (size_t)k->nmap + 1, sizeof *m);
	k->map[k->nmap] = *m;
	return ++k->nmap;
}

/* Aligns tiles with a smem layout atom to its pattern; creates the tensor maps of TMA copies. */
static void
set_forms(Solve *s, const LayoutSolution *sol)
{
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];
		const SmemAtom *f = o->code == O_alloc ? sol->form[o->out[0]->id] : NULL;
		TensorMap m;

		if (f && IMM(o, align) < form_align(f))
			IMM_SET(o, align, form_align(f));
		if (o->code != O_copy || !instr_is_box(instr_of(o->lowering)))
			continue;
		box_map(s, o, sol->form[view_root(copy_side(o, S_shared))->id], &m);
		o->lowering->access.tensor_map = map_number(s, &m);
	}
}

/* Sets registers per thread: at launch, and as reallocated by the roles (setmaxnreg). */
static void
set_registers(Solve *s, const LayoutSolution *sol)
{
	for (int i = 0; i < s->norder && sol->handed.launch; i++)
		if (s->order[i]->code == O_roles) {
			IMM_SET(s->order[i], producer, sol->handed.producer);
			IMM_SET(s->order[i], consumer, sol->handed.consumer);
		}
	if (sol->handed.launch)
		s->k->launch_registers = sol->handed.launch;
	else if (!kernel_roles(s->k))
		s->k->launch_registers = registers_limit(s, sol);
}

void
solution_apply(Solve *s, const LayoutSolution *sol)
{
	const Placed **placed = NEWN(s->arena, const Placed *, s->k->nval + 1);

	set_registers(s, sol);
	if (sol->cluster[0])
		memcpy(s->k->cluster_asked, sol->cluster, sizeof sol->cluster);
	ask_rotate(s, sol);
	set_layouts(s, sol, s->k->body);
	for (int i = 0; i < s->k->nparam; i++)
		if (sol->pack[i])
			s->k->param[i].pack = sol->pack[i];
	for (int i = 0; i < s->norder; i++) {
		Op *o = s->order[i];

		o->lowering = sol->lowering[o->id];
		for (int j = 0; j < o->nin; j++)
			if (sol->conv[o->id][j] && o->in[j]->type.space == S_reg)
				o->in[j] = converted(s, sol, placed, o, j);
	}
	set_forms(s, sol);
	for (int i = 0; i < s->norder; i++)
		for (int j = 0; j < s->order[i]->nout; j++)
			if (sol->made[s->order[i]->id][j])
				convert_result(s, sol, s->order[i], j);
}

/* lower_pinned_layout.c - lowers user-specified layouts: parses them, checks them against the tile and
 * adds them to the IR.
 *
 * A register layout maps each element to a lane, warp and register, and every register of every thread
 * must get an element; a shared layout maps it to an element of memory. Inference keeps both. */
#include "hexc/lang/lower.h"
#include <stdio.h>
#include <string.h>

/* Maximum registers/thread, in elements of the narrowest type; maximum locations of a shared tile. */
enum { REGS_MAX = LANE_REGISTERS * 32, PLACES_MAX = 1 << 22, SWIZZLE_MAX = 20 };

typedef struct Pin {
	Lower *l;
	const TypeSpec *spec;
	const Type *t;
	const char *name;
	Layout *layout;
} Pin;

static bool pin_error(const Pin *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

static bool
pin_error(const Pin *p, const char *fmt, ...)
{
	char *text = NEWN(p->l->arena, char, 1024);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, 1024, fmt, ap);
	va_end(ap);
	diag_error(p->l->diag, p->spec->layout_src, "the layout of `%s`: %s", p->name, text);
	return false;
}

static const char *
coord_text(const Pin *p, int64_t elem)
{
	int64_t c[DIM_MAX] = { 0 };
	Text s = { .arena = p->l->arena };

	type_coord(p->t, elem, c);
	for (int d = 0; d < p->t->rank; d++)
		text_printf(&s, "%s%lld", d ? ", " : "(", (long long)c[d]);
	text_printf(&s, ")");
	return s.s;
}

static bool
right_shape(const Pin *p)
{
	const Layout *l = p->layout;

	if (l->ndim != p->t->rank)
		return pin_error(p, "it has %d dimensions, but the tile is %s; write one list of modes for "
		                    "each",
		                 l->ndim, type_print(p->l->arena, p->t));
	for (int d = 0; d < p->t->rank; d++)
		if (layout_extent(l, d) != p->t->shape[d])
			return pin_error(p,
			              "the modes of dimension %d have %lld elements, but the tile is %s; "
			              "they must have %lld",
			                 d, (long long)layout_extent(l, d), type_print(p->l->arena, p->t),
			                 (long long)p->t->shape[d]);
	return true;
}

static bool
right_axes(const Pin *p)
{
	const Layout *l = p->layout;
	bool reg = p->t->space == S_reg;

	for (int i = 0; i < l->n + l->nrep; i++) {
		const Iter *it = layout_iter(l, i);
		bool thread = it->axis == AX_reg || it->axis == AX_lane || it->axis == AX_warp;

		if (reg ? !thread || (i >= l->n && it->axis == AX_reg) : it->axis != AX_mem || i >= l->n)
			return pin_error(
				p, "a %s",
				reg ? "register tile has a layout over lanes, warps and registers; write "
				      "strides like 1@reg, 4@lane, 1@warp, and replication as +[4:1@lane]"
				    : "shared tile has a memory layout; write strides as plain numbers");
		if (it->extent > 1 && it->stride < 1)
			return pin_error(p, "stride %lld maps several elements to one location; strides "
					    "must be positive",
			                 (long long)it->stride);
	}
	for (int a = 0; a < AX_COUNT; a++)
		if (l->offset[a])
			return pin_error(p, "layout has offset %lld on axis %s; offsets are not allowed",
			                 (long long)l->offset[a], axis_name((Axis)a));
	return true;
}

/* ---- registers ------------------------------------------------------------------------------------- */

/* Returns the location of an element's copy number `copy`: copies are counted like modes. */
static int64_t
thread_slot(const Pin *p, int64_t elem, int64_t copy, int64_t regs)
{
	const Layout *l = p->layout;
	int64_t c[DIM_MAX] = { 0 };
	Coord at;

	type_coord(p->t, elem, c);
	at = layout_at(l, c);
	layout_replica(l, copy, &at);
	return (at.at[AX_warp] * WARP_SIZE + at.at[AX_lane]) * regs + at.at[AX_reg];
}

static const char *
slot_text(const Pin *p, int64_t slot, int64_t regs)
{
	return arena_printf(p->l->arena, "register %lld of lane %lld of warp %lld", (long long)(slot % regs),
	                    (long long)(slot / regs % WARP_SIZE), (long long)(slot / regs / WARP_SIZE));
}

/* Reports both elements of a location that is used twice. */
static bool
held_twice(const Pin *p, int64_t slot, int64_t elem, int64_t copies, int64_t regs)
{
	for (int64_t e = 0; e <= elem; e++)
		for (int64_t c = 0; c < copies; c++)
			if (thread_slot(p, e, c, regs) == slot && e != elem)
				return pin_error(p, "elements %s and %s are both in %s; give one of their "
				                    "modes another stride",
				                 coord_text(p, e), coord_text(p, elem),
				                 slot_text(p, slot, regs));
	return pin_error(p, "element %s is in %s twice; remove a replication", coord_text(p, elem),
	                 slot_text(p, slot, regs));
}

static bool
nothing_here(const Pin *p, int64_t slot, int64_t regs, int64_t lanes, int64_t warps)
{
	int64_t lane = slot / regs % WARP_SIZE, warp = slot / regs / WARP_SIZE;
	const char *fix = "number the registers without gaps";

	if (lane >= lanes)
		fix = arena_printf(p->l->arena, "replicate across the other lanes, +[%lld:%lld@lane]",
		                   (long long)(WARP_SIZE / lanes), (long long)lanes);
	else if (warp >= warps)
		fix = arena_printf(p->l->arena, "replicate across the other warps, +[%lld:%lld@warp]",
		                   (long long)(p->l->k->warps / warps), (long long)warps);
	else if (lane || warp)
		fix = "number lanes and warps without gaps";
	return pin_error(p, "no element is in %s; %s", slot_text(p, slot, regs), fix);
}

static bool
register_places(const Pin *p)
{
	const Layout *l = p->layout;
	int64_t regs = layout_cosize(l, AX_reg), lanes = layout_cosize(l, AX_lane);
	int64_t warps = layout_cosize(l, AX_warp), have = p->l->k->warps, copies, slots;
	uint8_t *taken;

	if (lanes > WARP_SIZE || warps > have)
		return pin_error(p, "it reaches lane %lld of warp %lld, but a block has WARPS = %lld warps "
		                    "of 32 lanes; make strides or extents smaller, or WARPS larger",
		                 (long long)lanes - 1, (long long)warps - 1, (long long)have);
	if (regs > LANE_REGISTERS * 32 / dtype_info[p->t->dtype].bits)
		return pin_error(p, "register %lld of a thread is out of range: a thread has %d registers; "
		                    "distribute the tile over more lanes and warps",
		                 (long long)regs - 1, LANE_REGISTERS);
	copies = layout_replicas(l);
	slots = have * WARP_SIZE * regs;
	taken = NEWN(p->l->arena, uint8_t, slots);
	for (int64_t e = 0; e < type_size(p->t); e++)
		for (int64_t c = 0; c < copies; c++) {
			int64_t at = thread_slot(p, e, c, regs);

			if (taken[at])
				return held_twice(p, at, e, copies, regs);
			taken[at] = 1;
		}
	for (int64_t i = 0; i < slots; i++)
		if (!taken[i])
			return nothing_here(p, i, regs, lanes, warps);
	return true;
}

/* ---- shared memory --------------------------------------------------------------------------------- */

static bool
memory_places(const Pin *p)
{
	const Layout *l = p->layout;
	Swizzle s = l->swizzle;
	int64_t n = type_size(p->t), room, *owner;
	int far = s.shift < 0 ? -s.shift : s.shift;

	if (s.bits < 0 || s.base < 0 || s.base + s.bits + far > SWIZZLE_MAX)
		return pin_error(p, "Sw<%d,%d,%d> exceeds the %d lowest bits of an address", s.bits, s.base,
		                 s.shift, SWIZZLE_MAX);
	if (s.bits > 0 && s.shift < s.bits)
		return pin_error(p, "Sw<%d,%d,%d>: source bits must lie above the target bits; use a shift "
				    "of at least %d",
		                 s.bits, s.base, s.shift, s.bits);
	if (layout_cosize(l, AX_mem) > PLACES_MAX)
		return pin_error(p, "element %s is at element %lld of memory, which exceeds shared memory; "
		                    "make strides smaller",
		                 coord_text(p, n - 1), (long long)layout_cosize(l, AX_mem) - 1);
	room = layout_cosize(l, AX_mem) + ((int64_t)1 << (s.base + s.bits + far));
	owner = NEWN(p->l->arena, int64_t, room);
	for (int64_t e = 0; e < n; e++) {
		int64_t c[DIM_MAX] = { 0 }, at;

		type_coord(p->t, e, c);
		at = layout_at(l, c).at[AX_mem];
		if (owner[at])
			return pin_error(p, "elements %s and %s are both at element %lld of memory; give "
			                    "one of their modes another stride",
			                 coord_text(p, owner[at] - 1), coord_text(p, e), (long long)at);
		owner[at] = e + 1;
	}
	return true;
}

/* Sub-byte elements cannot be stored individually. */
static bool
whole_bytes(const Pin *p)
{
	int64_t least = 8 / dtype_info[p->t->dtype].bits;
	const Layout *l = p->layout;

	for (Digit g = layout_digits(l); g.it && least > 1; digit_next(&g))
		if (g.it->stride == 1 && g.it->extent % least == 0)
			return l->swizzle.bits == 0 || (1 << l->swizzle.base) % least == 0 ||
			       pin_error(p, "Sw<%d,%d,%d> moves single elements of %s, which are smaller "
			                    "than a byte",
			                 l->swizzle.bits, l->swizzle.base, l->swizzle.shift,
			                 dtype_info[p->t->dtype].name);
	return least <= 1 ||
	       pin_error(p, "element %s shares its byte with no contiguous element; sub-byte stores need "
			    "%lld contiguous %s (a stride-1 mode)",
	                 coord_text(p, 0), (long long)least, dtype_info[p->t->dtype].name);
}

const Layout *
lower_layout(Lower *l, const TypeSpec *spec, const Type *t, const char *name)
{
	static const char in_threads[] = "((8,2),(4,2)):((4@lane,2@reg),(1@lane,1@reg))";
	static const char in_memory[] = "(64,32):(32,1) or Sw<2,3,3> o (64,32):(32,1)";
	Layout *layout = NEW(l->arena, Layout);
	Pin p = { l, spec, t, name, layout };
	size_t at = 0;

	if (!layout_parse(layout, spec->layout, strlen(spec->layout), &at)) {
		pin_error(&p, "invalid layout at byte %zu; write extents and strides of each dimension, as "
		              "in %s",
		          at + 1, t->space == S_reg ? in_threads : in_memory);
		return NULL;
	}
	if (!right_shape(&p) || !right_axes(&p) ||
	    (t->space == S_reg ? !register_places(&p) : !memory_places(&p) || !whole_bytes(&p)))
		return NULL;
	return layout;
}

Val *
lower_pin(Lower *l, Src src, Val *v, const Layout *layout)
{
	Type t = v->type;

	t.layout = layout;
	t.pinned = true;
	return put1(l, O_pin, src, v, t);
}

LoweredValue
lower_relayout(Lower *l, const Expr *e)
{
	Operand x;

	if (!lower_tile_arg(l, e, 0, &x))
		return value_none();
	x.v.v = put1(l, O_relabel_layout, e->src, x.v.v, x.v.v->type);
	return x.v;
}

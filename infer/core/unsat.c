/* unsat.c - builds the error message for a plan without a solution: the conflicting constraints, an
 * example element, and the fix. */
#include "infer/core/search_state.h"
#include <stdio.h>

void
infer_error(Solve *s, Src src, const char *fmt, ...)
{
	char *text = NEWN(s->arena, char, 2048);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, 2048, fmt, ap);
	va_end(ap);
	s->failure = (Failure){ .text = text, .src = src };
}

void
infer_error_note(Solve *s, Src src, const char *fmt, ...)
{
	char *text = NEWN(s->arena, char, 2048);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, 2048, fmt, ap);
	va_end(ap);
	s->failure.note = text;
	s->failure.note_src = src;
}

const char *
elem_words(Solve *s, const Type *t, int64_t elem)
{
	int64_t c[DIM_MAX] = { 0 };
	Text x = { .arena = s->arena };

	type_coord(t, elem, c);
	for (int d = 0; d < t->rank; d++)
		text_printf(&x, "%s%lld", d ? ", " : "(", (long long)c[d]);
	text_printf(&x, ")");
	return x.s;
}

const char *
coord_text(Solve *s, const Layout *l, const Type *t, int64_t elem)
{
	int64_t c[DIM_MAX] = { 0 };
	Coord p;

	type_coord(t, elem, c);
	p = layout_at(l, c);
	return arena_printf(s->arena, "register %lld of lane %lld of warp %lld", (long long)p.at[AX_reg],
	                    (long long)p.at[AX_lane], (long long)p.at[AX_warp]);
}

const char *
tile_words(Solve *s, const Val *v)
{
	if (v->name)
		return arena_printf(s->arena, "`%s`", v->name);
	return arena_printf(s->arena, "the tile %s", type_print(s->arena, &v->type));
}

/* ---- unsupported accesses ----------------------------------------------------------------------------- */

/* Adds a note with the tensor's declaration to an error about an access. */
void
infer_error_tensor(Solve *s, Val *mem)
{
	const Val *root = view_root(mem);
	const Param *p = val_param(s->k, root);

	if (p)
		infer_error_note(s, p->src, "`%s` is %s here", p->name, dtype_info[root->type.dtype].name);
}

/* Reports a store of sub-byte elements whose thread does not own all elements of a byte. */
void
infer_error_half_bytes(Solve *s, const Op *o, const Layout *l, int unit)
{
	const Type *t = &store_value(o)->type;
	int64_t next = 1;

	for (int d = unit < 0 ? t->rank - 1 : unit; ++d < t->rank;)
		next *= t->shape[d];
	if (next >= type_size(t))
		next = 0;
	infer_error(
		s, o->src,
		"%s elements cannot be stored one at a time: element %s, in %s, shares a byte with element "
		"%s, in %s; assume that the last dimension written is a multiple of %d, and write slices "
		"whose starts and extents are also multiples",
		dtype_info[t->dtype].name, elem_words(s, t, 0), coord_text(s, l, t, 0),
		elem_words(s, t, next), coord_text(s, l, t, next), 8 / dtype_grain(t->dtype));
	infer_error_tensor(s, store_dest(o));
}

void
infer_error_no_red(Solve *s, const Op *o)
{
	static const char *const name[STORE_KINDS] = { "",           "atomic_add", "atomic_max", "atomic_min",
		                                         "atomic_and", "atomic_or",  "atomic_xor",
		                                         "atomic_swap", "atomic_cas" };
	DType d = store_value(o)->type.dtype;
	int kind = dtype_info[d].kind;
	bool shared = store_dest(o)->type.space == S_shared;
	const char *use = "f32";

	if (kind != K_flt)
		use = kind == K_sint ? "i32" : "u32";
	infer_error(s, o->src, "%s has no %s of %s%s; keep that %s in %s, and cast it %s",
	            s->k->unit->target->name, name[IMM(o, update)], dtype_info[d].name,
	            o->nin == 3 && IMM(o, update) < STORE_SWAP ? " with a value" : "",
	            shared ? "tile" : "tensor", use, shared ? "afterwards" : "in another kernel");
	infer_error_tensor(s, store_dest(o));
}

/* distinct_indices.c - determines whether the indices of a view are all distinct, so that a scatter writes no
 * element twice. */
#include "hexc/analysis/analysis.h"

enum { BUDGET = 400, STEP_MAX = 1 << 30 };

static int64_t
magnitude(int64_t x)
{
	return x < 0 ? -x : x;
}

/* ---- indices that differ --------------------------------------------------------------------------- */

/* Properties of an index tile. `apart`: dims along which its elements are distinct, for any coordinates of
 * the other dims. If it is affine: the coefficients of its coordinates. */
typedef struct Spread {
	unsigned apart;
	bool affine;
	bool positive; /* nonnegative */
	int64_t by[DIM_MAX];
} Spread;

static bool
const_of(const Val *v, int64_t *c)
{
	const Op *o = v->def;

	if (o && o->code == O_splat)
		return val_is_const(op_source(o), c);
	if (o && o->code == O_const && v->type.space == S_reg) {
		*c = IMM(o, value);
		return true;
	}
	return val_is_const(v, c);
}

/* Affine indices are distinct along all dims with a coefficient if each coefficient exceeds the sum of all
 * smaller terms' reach. The total reach must be below the type's modulus. */
static void
tell_apart(const Type *t, Spread *s)
{
	int64_t reach = 0;
	unsigned done = 0;

	s->apart = 0;
	for (;;) {
		int least = -1;

		for (int d = 0; d < t->rank; d++)
			if (!(done >> d & 1) && t->shape[d] > 1 && s->by[d] &&
			    (least < 0 || magnitude(s->by[d]) < magnitude(s->by[least])))
				least = d;
		if (least < 0)
			break;
		if (magnitude(s->by[least]) <= reach || magnitude(s->by[least]) > STEP_MAX) {
			s->apart = 0;
			return;
		}
		reach += magnitude(s->by[least]) * (t->shape[least] - 1);
		done |= 1u << least;
		s->apart |= 1u << least;
	}
	if (dtype_info[t->dtype].bits < 63 && reach >> dtype_info[t->dtype].bits)
		s->apart = 0;
}

/* Are all elements equal? */
static bool
is_uniform(const Spread *s)
{
	for (int d = 0; d < DIM_MAX; d++)
		if (s->by[d])
			return false;
	return s->affine;
}

static Spread spread_of(const Val *v, int *left);

/* x + y, x - y, x * y */
static Spread
spread_arith(const Op *o, int *left)
{
	Spread x = spread_of(elt_lhs(o), left), y = spread_of(elt_rhs(o), left), s = { 0 };
	int64_t c = 0;
	int at = const_of(elt_lhs(o), &c) ? 1 : 0;

	s.affine = x.affine && y.affine;
	s.positive = x.positive && y.positive && o->code == O_add;
	if (o->code == O_mul) {
		if ((!at && !const_of(elt_rhs(o), &c)) || magnitude(c) > STEP_MAX)
			return (Spread){ 0 };
		s = at ? y : x;
		s.positive &= c >= 0;
		for (int d = 0; d < DIM_MAX; d++)
			if (magnitude(s.by[d]) > STEP_MAX)
				return (Spread){ 0 };
			else
				s.by[d] *= c;
		if (s.affine)
			tell_apart(&o->out[0]->type, &s);
		else
			s.apart = c ? s.apart : 0;
		return s;
	}
	for (int d = 0; s.affine && d < DIM_MAX; d++)
		s.by[d] = o->code == O_add ? x.by[d] + y.by[d] : x.by[d] - y.by[d];
	if (s.affine)
		tell_apart(&o->out[0]->type, &s);
	else if (is_uniform(&x))
		s.apart = y.apart;
	else if (is_uniform(&y))
		s.apart = x.apart;
	return s;
}

/* Maps dims other than 1, in order, from one shape to another. */
static Spread
spread_shape(const Op *o, Spread x)
{
	const Type *from = &op_source(o)->type, *to = &o->out[0]->type;
	Spread s = { .affine = x.affine, .positive = x.positive };
	int d = 0;

	for (int e = 0; e < to->rank; e++) {
		if (to->shape[e] == 1)
			continue;
		while (d < from->rank && from->shape[d] == 1)
			d++;
		if (d == from->rank || from->shape[d] != to->shape[e])
			return (Spread){ 0 };
		s.by[e] = x.by[d];
		s.apart |= (x.apart >> d & 1) << e;
		d++;
	}
	return s;
}

/* Distinct values may collide in a narrower type; floats round. */
static Spread
spread_cast(const Op *o, Spread x)
{
	const Type *from = &op_source(o)->type, *to = &o->out[0]->type;

	if (dtype_is_float(from->dtype) || dtype_is_float(to->dtype))
		return (Spread){ 0 };
	if (dtype_info[to->dtype].bits >= dtype_info[from->dtype].bits)
		return x;
	x.positive = false;
	x.apart = 0;
	if (x.affine)
		tell_apart(to, &x);
	return x;
}

static Spread
spread_of(const Val *v, int *left)
{
	const Op *o = v->def;
	Spread s = { 0 };
	int64_t c;

	if (v->type.space != S_reg || (o && (o->code == O_splat || o->code == O_const)))
		return (Spread){ .affine = true, .positive = const_of(v, &c) && c >= 0 };
	if (!o || (*left)-- <= 0)
		return s;
	switch (o->code) {
	case O_iota:
		s.affine = s.positive = true;
		s.by[IMM(o, dim)] = 1;
		tell_apart(&v->type, &s);
		return s;
	case O_add:
	case O_sub:
	case O_mul: return spread_arith(o, left);
	case O_mod: /* i * step % c are distinct if step and c are coprime and c is at least the extent */
		s = spread_of(elt_lhs(o), left);
		for (int d = 0; d < v->type.rank; d++)
			if (s.affine && s.apart == 1u << d && const_of(elt_rhs(o), &c) &&
			    c >= v->type.shape[d] &&
			    gcd64(magnitude(s.by[d]), c) == 1 && s.positive)
				return (Spread){ .apart = s.apart };
		return (Spread){ 0 };
	case O_neg:
	case O_not:
		s = spread_of(o->in[0], left);
		s.affine = s.positive = false;
		return s;
	case O_xor:
		s = spread_of(o->in[const_of(elt_lhs(o), &c) ? 1 : 0], left);
		s.affine = s.positive = false;
		return const_of(elt_lhs(o), &c) || const_of(elt_rhs(o), &c) ? s : (Spread){ 0 };
	case O_cast: return spread_cast(o, spread_of(op_source(o), left));
	case O_select: /* negative indices access no element */
		return const_of(select_no(o), &c) && c < 0 ? spread_of(select_yes(o), left) : s;
	case O_reshape: return spread_shape(o, spread_of(op_source(o), left));
	case O_broadcast:
		s = spread_of(op_source(o), left);
		for (int d = 0; d < v->type.rank; d++)
			if (op_source(o)->type.shape[d] == 1)
				s.by[d] = 0;
		return s;
	case O_pin:
	case O_relabel_layout: return spread_of(op_source(o), left);
	default: return s;
	}
}

static const Val *
no_edge(const Val *v)
{
	int64_t c;

	while (v->def && v->def->code == O_select && const_of(select_no(v->def), &c) && c < 0)
		v = select_yes(v->def);
	return v;
}

/* Do a = x / c and b = x % c determine x? Then *whole is x. */
static bool
two_digits(const Val *a, const Val *b, const Val **whole)
{
	const Op *x = no_edge(a)->def, *y = no_edge(b)->def;
	int64_t c, d;

	if (!x || !y || x->code != O_div || y->code != O_mod || !const_of(elt_rhs(x), &c) ||
	    !const_of(elt_rhs(y), &d) || c != d || !val_same_way(elt_lhs(x), elt_lhs(y)))
		return false;
	*whole = elt_lhs(x);
	return true;
}

bool
view_names_once(const Op *view)
{
	int rank = view_source(view)->type.rank, nd = view_gather_rank(view);
	int first = view_gather_dim(view);
	unsigned apart = 0, want = 0;

	for (int i = 0; i < nd; i++)
		if (view->out[0]->type.shape[first + i] > 1)
			want |= 1u << i;
	for (int d = 0; d < rank; d++) {
		int left = BUDGET;
		const Val *whole;

		if (!view_gathers(view, d))
			continue;
		apart |= spread_of(view_start(view, d), &left).apart;
		for (int e = 0; e < rank; e++)
			if (view_gathers(view, e) &&
			    two_digits(view_start(view, d), view_start(view, e), &whole))
				apart |= spread_of(whole, &left).apart;
	}
	return (want & ~apart) == 0;
}

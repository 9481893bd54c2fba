/* print.c - prints a Kernel completely, in the textual form that read.c parses back to the same bytes;
 * grammar: IR.md. It also prints invalid IR (%0 for a missing value), for debugging. */
#include "hexc/ir/text/text.h"
#include "hexc/ir/dtype_value.h"
#include "hexc/ir/pack.h"
#include <math.h>
#include <string.h>

bool
text_is_name(const char *s, size_t n)
{
	if (n == 0 || (s[0] >= '0' && s[0] <= '9') || s[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (s[i] >= '0' && s[i] <= '9') || s[i] == '_' || s[i] == '.'))
			return false;
	return true;
}

/* Prints s in quotes, with \" \\ and \xHH for bytes that are not printable ASCII. */
static void
text_quote(Text *t, const char *s)
{
	text_add(t, "\"", 1);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			text_printf(t, "\\%c", *s);
		else if (*s >= ' ' && *s <= '~')
			text_add(t, s, 1);
		else
			text_printf(t, "\\x%02x", (unsigned)(unsigned char)*s);
	}
	text_add(t, "\"", 1);
}

static void
print_name(Text *t, const char *s)
{
	if (text_is_name(s, strlen(s)))
		text_printf(t, "%s", s);
	else
		text_quote(t, s);
}

static void
print_val(Text *t, const Val *v)
{
	text_printf(t, "%%%u", v ? (unsigned)v->id : 0u);
	if (v && v->name) {
		text_printf(t, ".");
		print_name(t, v->name);
	}
}

/* " WORD %a, %b" */
static void
print_vals(Text *t, const char *before, Val *const *v, int n)
{
	for (int i = 0; i < n; i++) {
		text_printf(t, "%s", i ? ", " : before);
		print_val(t, v[i]);
	}
}

static void
print_type(Text *t, const Type *type)
{
	text_printf(t, "%s%s", type_print(t->arena, type), type->kept ? " kept" : "");
	if (type->layout)
		text_printf(t, " @%s{%s}", type->pinned ? "pin" : "", layout_print(t->arena, type->layout));
}

/* Of IR that the verifier rejects a value may be missing. */
static void
print_type_of(Text *t, const char *before, const Val *v)
{
	text_printf(t, "%s", before);
	if (v)
		print_type(t, &v->type);
	else
		text_printf(t, "?");
}

static void
print_src(Text *t, Src s)
{
	if (s.line || s.col || s.len)
		text_printf(t, " !%u:%u+%u", (unsigned)s.line, (unsigned)s.col, (unsigned)s.len);
}

static void
print_word(Text *t, const char *word, const char *name)
{
	if (!name)
		return;
	text_printf(t, " %s ", word);
	print_name(t, name);
}

static void
print_map(Text *t, const char *word, const Layout *l)
{
	if (l)
		text_printf(t, " %s {%s}", word, layout_print(t->arena, l));
}

static void
print_access(Text *t, const LoweredAccess *a)
{
	print_word(t, "inst", a->inst);
	text_printf(t, " vec %d", a->vec);
	print_map(t, "map", a->map);
	if (a->tensor_map)
		text_printf(t, " tensor_map %d", a->tensor_map);
}

static void
print_matrix(Text *t, const char *word, const LoweredMatrix *m)
{
	if (m->width)
		text_printf(t, " %s { %s width %d lead %d stride %d }", word, m->mn ? "mn" : "k", m->width,
		            m->lead, m->stride);
}

static void
print_lowered_dot(Text *t, const Lowering *p)
{
	print_word(t, "inst", p->dot.inst);
	if (p->dot.n)
		text_printf(t, " n %d", p->dot.n);
	text_printf(t, p->dot.swap ? " swap" : "");
	print_map(t, "rows", p->dot.rows);
	print_map(t, "cols", p->dot.cols);
	print_map(t, "k", p->dot.k);
	if (p->dot.to)
		text_printf(t, " part %d, %d", p->dot.from, p->dot.to);
	if (p->dot.sets)
		text_printf(t, " sets %d", p->dot.sets);
	print_matrix(t, "a", &p->dot.matrix[0]);
	print_matrix(t, "b", &p->dot.matrix[1]);
}

static void
print_staging(Text *t, const Staging *s)
{
	text_printf(t, " write {");
	print_access(t, &s->write);
	text_printf(t, " } read {");
	print_access(t, &s->read);
	text_printf(t, " }");
	print_map(t, "tile", s->tile);
	text_printf(t, " bytes %lld", (long long)s->bytes);
	if (s->off)
		text_printf(t, " off %lld", (long long)s->off);
}

/* Rounded to thousandths of a cycle: for human readers. */
static void
print_cost(Text *t, double cost)
{
	double rounded = cost > -1e12 && cost < 1e12 ? nearbyint(cost * 1000) / 1000 : cost;

	if (rounded < 0 || rounded > 0 || rounded != rounded) {
		text_printf(t, " cost ");
		text_float(t, rounded);
	}
}

static void
print_lowering(Text *t, const Lowering *p)
{
	text_printf(t, " lowering { %s", lowering_kind_name[p->kind]);
	if (p->kind == LW_access) {
		print_access(t, &p->access);
	} else if (p->kind == LW_dot) {
		print_lowered_dot(t, p);
	} else if (lowering_is_staged(p)) {
		print_staging(t, &p->staged);
	}
	print_cost(t, p->cost);
	text_printf(t, " }");
}

/* Prints a float distinguishable from integers: with a point, an exponent, or by name. */
static void
print_float(Text *t, double x)
{
	size_t from = t->n;

	text_float(t, x);
	if (!strpbrk(t->s + from, ".pn"))
		text_printf(t, ".0");
}

/* " perm 1, 0": up to the last nonzero element. A list of dims is printed in full, and the value of a
 * constant always. */
static void
print_named_imm(Text *t, const Op *o, Imm name)
{
	const int64_t *x = o->imm + imm_slot(name);
	int n = imm_is_list(name) ? DIM_MAX - imm_slot(name) : 1;

	if (op_imm_is_float(o, name)) {
		if (double_bits(o->fimm) != 0 || name == IMM_value) {
			text_printf(t, " %s ", imm_name[name]);
			print_float(t, o->fimm);
		}
		return;
	}
	while (n > 0 && x[n - 1] == 0)
		n--;
	if (name == IMM_value)
		n = 1;
	if (n > 0 && name == IMM_perm && o->nout && n < o->out[0]->type.rank)
		n = o->out[0]->type.rank;
	if (n > 0)
		text_printf(t, " %s ", imm_name[name]);
	for (int i = 0; i < n; i++)
		text_printf(t, i ? ", %lld" : "%lld", (long long)x[i]);
}

/* Prints all immediates by number, for those without names. */
static void
print_numbered_imm(Text *t, const Op *o)
{
	int n = DIM_MAX;

	while (n > 0 && o->imm[n - 1] == 0)
		n--;
	for (int i = 0; i < n; i++)
		text_printf(t, "%s%lld", i ? ", " : " imm ", (long long)o->imm[i]);
	if (double_bits(o->fimm) != 0) {
		text_printf(t, " fimm ");
		text_float(t, o->fimm);
	}
}

static void
print_imm(Text *t, const Op *o)
{
	if (!op_imms_named(o)) {
		print_numbered_imm(t, o);
		return;
	}
	for (Imm i = 0; i < IMM_COUNT; i++)
		if (op_has_imm(o->code, i))
			print_named_imm(t, o, i);
}

static void op_print(Text *t, const Op *o, int indent);

/* "{\n ops }" with the region's arguments first, without a trailing newline */
static void
print_block(Text *t, const Block *b, int indent)
{
	text_printf(t, "{");
	for (int i = 0; i < b->narg; i++) {
		text_printf(t, i ? ", " : " (");
		print_val(t, b->arg[i]);
		print_type_of(t, " : ", b->arg[i]);
	}
	text_printf(t, b->narg ? ")\n" : "\n");
	for (const Op *o = b->first; o; o = o->next)
		op_print(t, o, indent + 1);
	text_printf(t, "%*s}", 2 * indent, "");
}

/* Prints one op with its regions. */
static void
op_print(Text *t, const Op *o, int indent)
{
	text_printf(t, "%*s", 2 * indent, "");
	print_vals(t, "", o->out, o->nout);
	text_printf(t, "%s%s", o->nout ? " = " : "", o->code < O_COUNT ? op_info[o->code].name : "?");
	print_vals(t, " ", o->in, o->nin);
	print_imm(t, o);
	if (o->text) {
		text_printf(t, " ");
		text_quote(t, o->text);
	}
	for (int i = 0; i < o->nout; i++)
		print_type_of(t, i ? ", " : " : ", o->out[i]);
	if (o->lowering)
		print_lowering(t, o->lowering);
	print_src(t, o->src);
	for (int r = 0; r < 2 && o->blk[r]; r++) {
		text_printf(t, r ? " else " : " ");
		print_block(t, o->blk[r], indent);
	}
	text_printf(t, "\n");
}

static void
print_param(Text *t, const Param *p)
{
	static const char *const kind[] = { "tensor", "size", "scalar" };
	int rank = p->val ? p->val->type.rank : 0;

	text_printf(t, "  param ");
	print_val(t, p->val);
	text_printf(t, " %s ", kind[p->kind]);
	print_name(t, p->name ? p->name : "");
	if (p->val) {
		text_printf(t, " : ");
		print_type(t, &p->val->type);
	}
	text_printf(t, "%s%s", p->read ? " read" : "", p->written ? " written" : "");
	if (p->kind == P_tensor) {
		print_vals(t, " size ", p->size, rank);
		print_vals(t, " stride ", p->stride, rank);
	}
	if (p->mult || p->lo || p->hi)
		text_printf(t, " mult %lld lo %lld hi %lld", (long long)p->mult, (long long)p->lo,
		            (long long)p->hi);
	if (p->pack) {
		text_printf(t, " pack ");
		text_quote(t, pack_text(t->arena, p->pack));
	}
	print_src(t, p->src);
	text_printf(t, "\n");
}

/* The box determines the rank; the stride of dim 0 is 1. */
static void
print_tensor_map(Text *t, const Kernel *k, const TensorMap *m)
{
	int rank = m->rank < (int)COUNT_OF(m->box) ? m->rank : (int)COUNT_OF(m->box);

	text_printf(t, "  map ");
	print_val(t, m->param >= 0 && m->param < k->nparam ? k->param[m->param].val : NULL);
	text_printf(t, " %s box ", dtype_info[m->dtype].name);
	for (int d = 0; d < rank; d++)
		text_printf(t, "%s%lld", d ? ", " : "", (long long)m->box[d]);
	print_vals(t, " size ", m->size, rank);
	print_vals(t, " stride ", m->stride + 1, rank - 1);
	text_printf(t, " swizzle %d l2 %d\n", m->swizzle, m->l2);
}

/* Prints the last pass, and fields of warp roles and clusters that differ from their defaults. */
static void
print_launch(Text *t, const Kernel *k)
{
	if (k->after) {
		text_printf(t, "  after ");
		print_name(t, k->after);
		text_printf(t, "\n");
	}
	if (k->masked)
		text_printf(t, "  masked\n");
	if (k->teams != 1)
		text_printf(t, "  teams %d\n", k->teams);
	if (k->producer_warps)
		text_printf(t, "  producer_warps %d\n", k->producer_warps);
	if (k->schedule != SCHEDULE_MULTISTAGE)
		text_printf(t, "  schedule %s\n", schedule_name[k->schedule]);
	if (k->launch_registers)
		text_printf(t, "  registers %d\n", k->launch_registers);
	if (k->cluster[0] != 1 || k->cluster[1] != 1 || k->cluster[2] != 1)
		text_printf(t, "  cluster %d, %d, %d\n", k->cluster[0], k->cluster[1], k->cluster[2]);
	if (k->cluster_asked[0])
		text_printf(t, "  cluster_asked %d, %d, %d\n", k->cluster_asked[0], k->cluster_asked[1],
		            k->cluster_asked[2]);
}

static void
print_order(Text *t, const GridOrder *o)
{
	text_printf(t, "  group %lld of ", (long long)o->group);
	if (o->fast >= GRID_OTHERS)
		text_printf(t, "others, %d%s\n", o->slow, o->fast == GRID_OTHERS_DOWN ? " descending" : "");
	else
		text_printf(t, "%d, %d\n", o->fast, o->slow);
}

void
kernel_print(Text *t, const Kernel *k)
{
	text_printf(t, "kernel ");
	print_name(t, k->name ? k->name : "");
	print_src(t, k->src);
	text_printf(t, " {\n  warps %d%s\n", k->warps, k->open_warps ? " open" : "");
	print_launch(t, k);
	if (k->order.group)
		print_order(t, &k->order);
	if (k->smem)
		text_printf(t, "  smem %lld\n", (long long)k->smem);
	if (k->team_smem)
		text_printf(t, "  team_smem %lld\n", (long long)k->team_smem);
	for (int i = 0; i < k->nconstants; i++) {
		text_printf(t, "  const ");
		print_name(t, k->constants[i].name);
		if (value_type(k->constants[i].value) < D_COUNT)
			text_printf(t, " = %s\n", dtype_info[value_type(k->constants[i].value)].name);
		else
			text_printf(t, " = %lld\n", (long long)k->constants[i].value);
	}
	for (int i = 0; i < k->nparam; i++)
		print_param(t, &k->param[i]);
	for (int i = 0; i < k->nmap; i++)
		print_tensor_map(t, k, &k->map[i]);
	if (k->grid) {
		text_printf(t, "  grid ");
		print_block(t, k->grid, 1);
		text_printf(t, "\n");
	}
	for (int i = 0; i < k->nassume; i++) {
		text_printf(t, "  assume ");
		print_val(t, k->assume[i].cond);
		text_printf(t, " ");
		text_quote(t, k->assume[i].text ? k->assume[i].text : "");
		print_src(t, k->assume[i].src);
		text_printf(t, "\n");
	}
	/* the body's arguments are the parameters */
	text_printf(t, "  body {\n");
	for (const Op *o = k->body ? k->body->first : NULL; o; o = o->next)
		op_print(t, o, 2);
	text_printf(t, "  }\n}\n");
}

/* test_inline_asm.c - tests the tables of inline assembly: operand counts agree, ptxas accepts every row
 * for every target that may use it, fragments are as specified in the PTX ISA. In C: tables are read, and
 * figures are formulas. */
#include "infer/core/wgmma.h"
#include "ptxgen/base/inline_asm_table.h"
#include "test/ptxgen/util_ptx.h"
#include "test/ir/util_unit.h"
#include <stdio.h>
#include <string.h>

static void
check_row(const char *name, const char *text, const char *cons)
{
	int no, ni;

	ck_assert_msg(cons_count(cons, &no, &ni), "%s: constraints %s", name, cons);
	ck_assert_msg(text_operands(text) == no + ni - 1, "%s: %d operands for %s", name, no + ni,
	              text);
	for (int i = 0; i < no + ni; i++) {
		const char *want = arena_printf(u->arena, "$%d", i);
		const char *at = strstr(text, want);

		while (at && at[2] >= '0' && at[2] <= '9' && i < 10)
			at = strstr(at + 1, want);
		ck_assert_msg(at != NULL, "%s: %s is not used", name, want);
	}
}

TEST(counts)
{
	for (const Instr *i = instrs; i->name; i++) {
		const char *text, *cons;

		ck_assert(instr_find(i->name) == i);
		if (!i->cons) /* put together elsewhere: of wgmma below */
			continue;
		check_row(i->name, i->text, i->cons);
		instr_predicated(u->arena, i, &text, &cons);
		check_row(i->name, text, cons);
	}
	for (int i = 0; i < A_COUNT; i++)
		check_row(asm_info[i].name, asm_info[i].text, asm_info[i].cons);
	ck_assert_ptr_null(instr_find("nosuch"));
	ck_assert_ptr_null(instr_find(NULL));
}

/* Write a row with registers in place of its operands, and `number` for constants. */
static void
plain_text(Text *t, const char *text, const char *cons, int number)
{
	char letter[24];
	int n = 0;

	for (const char *c = cons; *c; c++)
		if (strchr("brhlfdn", *c))
			letter[n++] = *c;
	text_printf(t, "\t{ ");
	for (const char *c = text; *c; c++) {
		int i = 0;

		if (*c != '$') {
			text_add(t, c, 1);
			continue;
		}
		if (strncmp(c, "${:uid}", 7) == 0) { /* LLVM's: another number each time */
			text_printf(t, "0");
			c += 6;
			continue;
		}
		while (c[1] >= '0' && c[1] <= '9')
			i = i * 10 + (*++c - '0');
		ck_assert_int_lt(i, n);
		if (letter[i] == 'n')
			text_printf(t, "%d", number);
		else
			text_printf(t, "%%%c%d", letter[i] == 'b' ? 'p' : letter[i], i);
	}
	text_printf(t, " }\n");
}

static void
text_start(Text *t, const Target *target)
{
	int ptx = target->features & T_MMA16816 && target->ptx < PTX_SPARSE ? PTX_SPARSE : target->ptx;

	text_printf(t, ".version %d.%d\n.target %s\n.address_size 64\n.visible .entry t()%s\n{\n", ptx / 10,
	            ptx % 10, target->name, target->features & T_SETMAXNREG ? " .maxnreg 128" : "");
	text_printf(t, "\t.reg .pred %%p<20>;\n\t.reg .b32 %%r<20>;\n\t.reg .b16 %%h<20>;\n"
	               "\t.reg .b64 %%l<20>;\n\t.reg .f32 %%f<20>;\n\t.reg .f64 %%d<20>;\n");
}

static int
target_count(void)
{
	int n = 0;

	while (targets[n].name)
		n++;
	return n;
}

/* A constant that the row takes. */
static int
number_of(int id)
{
	switch (id) {
	case A_registers_less: return 40;
	case A_registers_more: return 240;
	case A_wg_wait: return 0;
	default: return 1;
	}
}

TEST_EACH(assembles, target_count())
{
	const Target *target = &targets[_i];
	Text t = { u->arena, NULL, 0, 0 };
	const char *text, *cons;

	u->target = target;
	text_start(&t, target);
	for (const Instr *i = instrs; i->name; i++) {
		bool product = i->kind == IK_mma || i->kind == IK_mma_sp || i->kind == IK_mma_scaled;

		if (!i->cons || !instr_on(i, target))
			continue;
		plain_text(&t, i->text, i->cons, i->kind == IK_cp_async || product ? 0 : 1);
		for (int s = 1; s < instr_selectors(i); s++)
			plain_text(&t, i->text, i->cons, s);
		if (product || i->kind == IK_ldmatrix)
			continue;
		instr_predicated(u->arena, i, &text, &cons);
		plain_text(&t, text, cons, i->kind == IK_cp_async ? 0 : 1);
	}
	for (int i = 0; i < A_COUNT; i++)
		if ((asm_info[i].features & ~target->features) == 0)
			plain_text(&t, asm_info[i].text, asm_info[i].cons, number_of(i));
	text_printf(&t, "\tret;\n}\n");
	if (!ptx_assembles(u, t.s))
		fprintf(stderr, "no ptxas for %s: its templates were not assembled\n", target->name);
}

/* An instance of n columns in registers of its own. */
static void
wgmma_instance(Text *t, const Instr *i, int n, bool mn)
{
	Lowering p = { .kind = LW_dot, .dot = { .inst = i->name, .n = n } };
	int words = n / (dtype_info[i->acc].bits == 16 ? 4 : 2);
	Text d = { .arena = u->arena };

	p.dot.matrix[0].width = i->a ? 0 : 128;
	p.dot.matrix[1].width = 128;
	p.dot.matrix[0].mn = p.dot.matrix[1].mn = mn;
	for (int w = 0; w < words; w++)
		text_printf(&d, "%sw%d", w ? ", " : "{", w);
	text_printf(&d, "}");
	text_printf(t, "\t{ .reg .%s w<%d>; wgmma.fence.sync.aligned; ", i->acc == D_f32 ? "f32" : "b32",
	            words);
	for (int w = 0; w < words; w++)
		text_printf(t, "mov.b32 w%d, 0; ", w);
	text_printf(t, "%s wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }\n",
	            wgmma_text(u->arena, &p, d.s, i->a ? "{%r0, %r1, %r2, %r3}" : "%l0", "%l1", "1"));
}

TEST(wgmma_assembles)
{
	const Target *target = target_find("sm_90a");
	Text t = { .arena = u->arena };

	u->target = target;
	text_start(&t, target);
	for (const Instr *i = instrs; i->name; i++)
		for (int mn = 0; i->kind == IK_wgmma && mn <= wgmma_has_mn(i); mn++) {
			wgmma_instance(&t, i, 8, mn);
			wgmma_instance(&t, i, 96, mn);
		}
	text_printf(&t, "\tret;\n}\n");
	if (!ptx_assembles(u, t.s))
		fprintf(stderr, "no ptxas: rows of wgmma were not assembled\n");
}

/* ---- fragments: PTX ISA, "Matrix Fragments for mma..." --------------------------------------- */

/* Row and column of element i of lane l. */
static void
isa_a(const Instr *in, int l, int i, int *row, int *col)
{
	int g = l >> 2, q = l & 3;

	switch (dtype_info[in->ta].bits) {
	case 4: /* m8n8k32, m16n8k32, m16n8k64 */
		*row = in->m == 8 || i < 8 || (i >= 16 && i < 24) ? g : g + 8;
		*col = q * 8 + (i & 7) + (i >= 16 ? 32 : 0);
		break;
	case 8: /* m8n8k16, m16n8k16, m16n8k32 */
		*row = in->m == 8 || i < 4 || (i >= 8 && i < 12) ? g : g + 8;
		*col = q * 4 + (i & 3) + (i >= 8 ? 16 : 0);
		break;
	case 16: /* m16n8k8, m16n8k16 */
		*row = i < 2 || (i >= 4 && i < 6) ? g : g + 8;
		*col = q * 2 + (i & 1) + (i >= 4 ? 8 : 0);
		break;
	default: /* tf32: m16n8k4, m16n8k8; f64: m8n8k4, m16n8k4, m16n8k8, m16n8k16 */
		*row = in->m == 8 || i % 2 == 0 ? g : g + 8;
		*col = q + (i >= 6 ? 12 : i >= 4 ? 8
		                  : i >= 2       ? 4
		                           : 0);
		break;
	}
}

static void
isa_b(const Instr *in, int l, int i, int *row, int *col)
{
	int g = l >> 2, q = l & 3;

	*col = g;
	switch (dtype_info[in->tb].bits) {
		/* sparse products read up to four registers of B, dense ones two */
	case 4: *row = q * 8 + (i & 7) + i / 8 * 32; break;
	case 8: *row = q * 4 + (i & 3) + i / 4 * 16; break;
	case 16: *row = q * 2 + (i & 1) + i / 2 * 8; break;
	default: *row = q + 4 * i; break;
	}
}

static void
isa_c(const Instr *in, int l, int i, int *row, int *col)
{
	(void)in;
	*row = (l >> 2) + (i >= 2 ? 8 : 0);
	*col = (l & 3) * 2 + (i & 1);
}

/* Row and position of bits of lane l's metadata, position i from below, for the first selector: figures of
 * "Matrix fragments for multiply-accumulate operation with sparse matrix A". */
static bool
isa_e(const Instr *in, int l, int i, int *row, int *place)
{
	int g = l >> 2, q = l & 3;

	switch (dtype_info[in->ta].bits) {
	case 4:
	case 8: /* lanes 0 and 2 the row g, 1 and 3 the row g + 8; 2 and 3 for the longer k only */
		*row = q & 1 ? g + 8 : g;
		*place = i + (q >= 2 ? 16 : 0);
		return q < 2 || in->k * dtype_info[in->ta].bits == 512;
	case 16: /* 8 positions of row g, then of g + 8 */
		*row = i >= 8 ? g + 8 : g;
		*place = q * 8 + (i & 7);
		return q < (in->k == 32 ? 2 : 1);
	default: /* tf32: one position for 4 bits */
		*row = i >= 4 ? g + 8 : g;
		*place = q * 4 + (i & 3);
		return q < (in->k == 16 ? 2 : 1);
	}
}

static void
check_positions(const Instr *in)
{
	int n = in->ta == D_tf32 ? 8 : 16, lanes = 4 / instr_selectors(in);

	for (int steps = 1; steps <= instr_selectors(in); steps *= 2) {
		Layout l;

		ck_assert_msg(instr_positions(in, steps, false, &l), "%s", in->name);
		ck_assert_int_eq(layout_extent(&l, 0), 16);
		ck_assert_int_eq(layout_cosize(&l, AX_reg), n);
		for (int s = 0; s < steps; s++)
			for (int lane = 0; lane < WARP_SIZE; lane++)
				for (int i = 0; i < n; i++) {
					int64_t c[2];
					Coord p;
					int row, place;

					if (!isa_e(in, lane, i, &row, &place)) {
						ck_assert_int_ge(lane % 4, lanes);
						continue;
					}
					c[0] = row;
					c[1] = place + layout_extent(&l, 1) / steps * s;
					p = layout_at(&l, c);
					ck_assert_msg(p.at[AX_lane] == lane + s * lanes && p.at[AX_reg] == i,
					              "%s position (%d, %d) of step %d", in->name, row, place,
					              s);
				}
	}
}

static void
check_fragment(const Instr *in, int operand, int rows, int cols,
               void (*isa)(const Instr *, int, int, int *, int *))
{
	Layout l;
	int n = rows * cols / WARP_SIZE;

	ck_assert_msg(instr_fragment(in, operand, false, &l), "%s operand %d", in->name, operand);
	ck_assert_int_eq(layout_extent(&l, 0), rows);
	ck_assert_int_eq(layout_extent(&l, 1), cols);
	ck_assert_int_eq(layout_cosize(&l, AX_reg), n);
	for (int lane = 0; lane < WARP_SIZE; lane++) {
		for (int i = 0; i < n; i++) {
			int64_t c[2];
			Coord p;
			int row, col;

			isa(in, lane, i, &row, &col);
			c[0] = row;
			c[1] = col;
			p = layout_at(&l, c);
			ck_assert_msg(p.at[AX_lane] == lane && p.at[AX_reg] == i,
			              "%s operand %d (%d, %d)", in->name, operand, row, col);
		}
	}
}

TEST(fragments)
{
	for (const Instr *i = instrs; i->name; i++) {
		if (i->kind != IK_mma && i->kind != IK_mma_sp)
			continue;
		if (i->kind == IK_mma_sp)
			check_positions(i);
		check_fragment(i, 0, i->m, i->kind == IK_mma_sp ? i->k / 2 : i->k, isa_a);
		check_fragment(i, 1, i->k, i->n, isa_b);
		check_fragment(i, 2, i->m, i->n, isa_c);
	}
}

TEST_PROGRAM(UNIT_FIXTURE, .timeout = 120);

/* scheduling_barrier.c - emits scheduling barriers for ptxas: a never-taken branch to a trap (2
 * instructions), which keeps partial results from being live at once.
 *
 * Between two branches ptxas schedules freely. If each of a hundred accumulators of a lane takes an
 * activation, it starts all of them before it finishes one, and spills hundreds of bytes. A barrier
 * instruction only holds back memory accesses, a branch everything. The branch to a trap has a condition
 * that is never true, which ptxas does not know (inline_asm.def). */
#include "ptxgen/base/scheduling_barrier.h"
#include "ptxgen/base/inline_asm_table.h"
#include "ptxgen/base/induction.h"
#include "ptxgen/base/packed_word.h"
#include "ptxgen/base/ptx_entry.h"
#include <string.h>

enum {
	MANY = 96, /* elements per lane whose derived values fill the registers */
	PIECE = 96, /* words emitted, and .. */
	SIDE_BY_SIDE = 8, /* .. minimum elements of a section: they hide each other's latencies */
};

/* Is a dot in the innermost loop? Its MMAs must overlap with the other computations: no barriers there. */
static bool
in_loop_of_products(const Codegen *g)
{
	for (const Op *o = g->loop ? g->loop->op->blk[0]->first : NULL; o; o = o->next)
		if (o->code == O_dot || o->code == O_wgmma)
			return true;
	return false;
}

void
gen_apart(Codegen *g, const Val *v, int n)
{
	g->piece += n;
	if (tile_of(g, v)->nreg < MANY || g->piece < SIDE_BY_SIDE || g->s->made - g->apart_made < PIECE ||
	    in_loop_of_products(g))
		return;
	asm_op(g, A_apart, const_i32(g, INT32_MIN + g->napart++), NULL, NULL);
	g->apart_made = g->s->made;
	g->piece = 0;
}

const char *
apart_undone(Arena *a, const char *ptx, const char *kernel)
{
	static const char instead[] = "bar.warp.sync -1;";
	const char *text = asm_info[A_apart].text;
	size_t head = (size_t)(strchr(text, '$') - text);
	char *copy = arena_strndup(a, ptx, strlen(ptx));
	PtxEntry e;

	if (!ptx_entry_find(a, copy, kernel, &e))
		return copy;
	for (char *at = copy + (e.body - copy); (at = strstr(at, "{ .reg")) != NULL && at < e.end; at++)
		if (strncmp(at, text, head) == 0) {
			memset(at, ' ', strcspn(at, "}") + 1);
			memcpy(at, instead, strlen(instead));
		}
	return copy;
}

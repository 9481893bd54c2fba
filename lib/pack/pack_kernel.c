/* pack_kernel.c - generates a tile program that packs on the device, for hexc_compile. */
#include "hexc/ir/pack.h"
#include "lib/base/base.h"
#include <stdio.h>
#include <string.h>

enum { TILE_MOST = 1 << 14, ROWS_MOST = 4 }; /* elements per tile; blocks per column of a tile */

typedef struct ProgramJob {
	Arena arena;
	const char *text, *out;
	int unpack;
} ProgramJob;

/* Runs under arena_protect. */
static void
write_program(void *user)
{
	ProgramJob *j = user;
	bool back = j->unpack != 0;
	const char *why, *type, *demand, *from = back ? "P" : "W", *to = back ? "W" : "P";
	long long rows, columns;
	int bits;
	Pack p;

	if (!pack_parse(&j->arena, j->text, strlen(j->text), &p, &why))
		return;
	type = dtype_info[p.dtype].name;
	bits = dtype_info[p.dtype].bits;
	rows = p.block[0];
	columns = p.block[1];
	while (rows < ROWS_MOST * p.block[0] && 2 * rows * columns <= TILE_MOST)
		rows *= 2;
	demand = arena_printf(&j->arena, "packed(\"%s\") ", j->text);
	j->out = arena_printf(&j->arena,
	                      "// %s weights from one form to the other\n"
	                      "kernel %s(%s: %s%s[N, K], %s: out %s%s[N, K])\n"
	                      "%s"
	                      "{\n"
	                      "    grid(ceil(N, %lld), ceil(K, %lld));\n"
	                      "    let n = block.x * %lld, k = block.y * %lld;\n"
	                      "    %s[n :+ %lld, k :+ %lld] = %s[n :+ %lld, k :+ %lld];\n"
	                      "}\n",
	                      type, back ? "unpack" : "pack", from, back ? demand : "", type, to,
	                      back ? "" : demand, type, back && bits % 8 ? "    assume K % 8 == 0\n" : "",
	                      rows, columns, rows, columns, to, rows, columns, from, rows, columns);
}

size_t
hexc_pack_program(const char *pack, int unpack, char *out, size_t n)
{
	ProgramJob j;
	Arena *arenas[1] = { &j.arena };
	size_t need = 0;

	memset(&j, 0, sizeof j);
	j.text = pack;
	j.unpack = unpack;
	arena_init(&j.arena, NULL, NULL);
	if (pack && arena_protect(arenas, 1, write_program, &j) == HEXC_OK && j.out)
		need = strlen(j.out) + 1;
	if (need && out && n)
		snprintf(out, n, "%s", j.out);
	arena_free(&j.arena);
	return need;
}

/* debug_lines.c - attaches source lines to the PTX instructions (.loc), from the ops' source locations.
 *
 * LLVM's C API cannot create a compile unit of "debug directives only": .file and .loc without the debugger
 * sections, and without `debug` in .target, which would disable ptxas optimization. LLVM's textual IR can.
 * The module therefore starts as text; its `subprograms` are the kernels, in order. */
#include "ptxgen/base/debug_lines.h"
#include <string.h>

/* Prints a string in LLVM IR syntax. */
static void
put_quoted(Text *t, const char *s)
{
	text_printf(t, "\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ' || (unsigned char)*s > '~')
			text_printf(t, "\\%02X", (unsigned char)*s);
		else
			text_printf(t, "%c", *s);
	text_printf(t, "\"");
}

const char *
lines_module(const Unit *u)
{
	enum { FIRST_KERNEL = 5 };
	const char *file = u->file ? u->file : "hexc";
	Text t = { .arena = u->arena };

	text_printf(&t, "source_filename = ");
	put_quoted(&t, file);
	text_printf(&t, "\n!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!1}\n!subprograms = !{");
	for (int i = 0; i < u->nkernel; i++)
		text_printf(&t, "%s!%d", i ? ", " : "", FIRST_KERNEL + i);
	text_printf(&t, "}\n!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, producer: \"hexc\", "
	                "isOptimized: true, emissionKind: DebugDirectivesOnly)\n"
	                "!1 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
	                "!2 = !DIFile(directory: \"\", filename: ");
	put_quoted(&t, file);
	text_printf(&t, ")\n!3 = !DISubroutineType(types: !4)\n!4 = !{null}\n");
	for (int i = 0; i < u->nkernel; i++) {
		text_printf(&t,
		            "!%d = distinct !DISubprogram(scope: !2, file: !2, type: !3, unit: !0, line: %u, "
		            "scopeLine: %u, spFlags: DISPFlagDefinition | DISPFlagOptimized, name: ",
		            FIRST_KERNEL + i, u->kernel[i]->src.line, u->kernel[i]->src.line);
		put_quoted(&t, u->kernel[i]->name);
		text_printf(&t, ")\n");
	}
	return t.s;
}

static int
number_of(const Unit *u, const Kernel *k)
{
	int i = 0;

	while (u->kernel[i] != k)
		i++;
	return i;
}

void
lines_begin(Codegen *g)
{
	LV *of;

	if (!g->u->lineinfo)
		return;
	of = lv_array(g, g->u->nkernel);
	LLVMGetNamedMetadataOperands(g->s->mod, "subprograms", of);
	g->lines = LLVMValueAsMetadata(of[number_of(g->u, g->k)]);
	LLVMSetSubprogram(g->fn, g->lines);
	lines_at(g, g->k->src);
}

Src
lines_at(Codegen *g, Src src)
{
	Src before = g->at;
	LLVMMetadataRef at;

	if (!g->lines || !src.line || (src.line == before.line && src.col == before.col))
		return before;
	g->at = src;
	at = LLVMDIBuilderCreateDebugLocation(g->ctx, src.line, src.col, g->lines, NULL);
	LLVMSetCurrentDebugLocation2(g->b, at);
	LLVMSetCurrentDebugLocation2(g->pre, at);
	return before;
}

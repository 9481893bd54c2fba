/* loc.c - parses .file and .loc, which map PTX lines to source lines of the program. */
#include "lib/sim/ptx/parse.h"

/* The file name without the quotes, and without terminal control characters. */
static const char *
file_name(PtxParser *p)
{
	char *s = arena_strndup(&p->m->arena, p->l.s + 1, p->l.n - 2);

	for (char *c = s; *c; c++)
		if ((u8)*c < ' ' || *c == 0x7f)
			*c = '?';
	return s;
}

/* .file number "name" [, time, size] */
void
p_file(PtxParser *p)
{
	SourceFile f = { 0, NULL };

	lex_next(&p->l);
	if (p->l.tok == K_INT) {
		f.number = (u32)p->l.num;
		lex_next(&p->l);
	}
	if (p->l.tok == K_STR) {
		f.name = file_name(p);
		VEC_PUSH(&p->m->arena, p->m->file, p->m->nfile, p->m->cfile, f);
	}
	p_skip_numbers(p);
}

/* .loc file line column [, function_name label [+ offset], inlined_at file line column] */
void
p_loc(PtxParser *p)
{
	SourceLine s = { p->l.tline, 0, 0 };
	u32 *to[2] = { &s.file, &s.line };

	lex_next(&p->l);
	for (u32 i = 0; i < 2 && p->l.tok == K_INT; i++) {
		*to[i] = (u32)p->l.num;
		lex_next(&p->l);
	}
	VEC_PUSH(&p->m->arena, p->m->source, p->m->nsource, p->m->csource, s);
	p_skip_numbers(p);
}

void
p_no_loc(PtxParser *p)
{
	SourceLine none = { p->l.tline, 0, 0 };

	if (p->m->nsource)
		VEC_PUSH(&p->m->arena, p->m->source, p->m->nsource, p->m->csource, none);
}

const char *
source_of(const Ptx *m, u32 ptx_line, u32 *line)
{
	const SourceLine *s = NULL;

	*line = 0;
	for (u32 lo = 0, hi = m->nsource; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;
		if (m->source[mid].ptx_line <= ptx_line) {
			s = &m->source[mid];
			lo = mid + 1;
		} else {
			hi = mid;
		}
	}
	for (u32 i = 0; s && s->line && i < m->nfile; i++)
		if (m->file[i].number == s->file) {
			*line = s->line;
			return m->file[i].name;
		}
	return NULL;
}

/* ctx.c - opens, configures and closes contexts, and returns their diagnostics and the build's identity. */
#include "lib/lib.h"
#include "ptxgen/ptxgen.h"
#include <stdlib.h>
#include <string.h>

int
hexc_open(hexc_ctx **out, const hexc_opts *opts)
{
	/* a struct of an older header may end before `realloc` */
	bool whole = opts && opts->size >= offsetof(hexc_opts, user) + sizeof opts->user;
	void *(*fn)(void *, void *, size_t) = whole && opts->realloc ? opts->realloc : libc_realloc;
	void *user = whole ? opts->user : NULL;
	Options o;
	hexc_ctx *c;
	int rc;

	if (!out)
		return HEXC_E_INVALID;
	*out = NULL;
	rc = options_copy(&o, opts, fn, user);
	if (rc)
		return rc;
	c = fn(user, NULL, sizeof *c);
	if (!c) {
		options_free(&o, fn, user);
		return HEXC_E_NOMEM;
	}
	memset(c, 0, sizeof *c);
	c->opt = o;
	c->realloc = fn;
	c->user = user;
	arena_init(&c->arena, fn, user);
	*out = c;
	return HEXC_OK;
}

void
hexc_close(hexc_ctx *c)
{
	if (!c)
		return;
	ptxgen_free(c->ptxgen);
	arena_free(&c->arena);
	options_free(&c->opt, c->realloc, c->user);
	c->realloc(c->user, c, 0);
}

int
hexc_configure(hexc_ctx *c, const hexc_opts *opts)
{
	Options o;
	int rc;

	if (!c)
		return HEXC_E_INVALID;
	rc = options_copy(&o, opts, c->realloc, c->user);
	if (rc)
		return rc;
	options_free(&c->opt, c->realloc, c->user);
	c->opt = o;
	c->opt.o.user = c->user;
	return HEXC_OK;
}

int
hexc_diag(const hexc_ctx *c, size_t i, hexc_diag_info *out)
{
	hexc_diag_info info = HEXC_DIAG_INFO_INIT;
	const DiagMsg *m;

	if (!c || !out)
		return 0;
	if (c->only_last) {
		if (i > 0)
			return 0;
		m = &c->last;
	} else {
		if (i >= (size_t)c->diag.n)
			return 0;
		m = &c->diag.msg[c->order ? c->order[i] : (int)i];
	}
	info.severity = m->severity;
	info.file = c->file ? c->file : "<source>";
	info.line = m->src.line;
	info.col = m->src.col;
	info.len = m->src.len ? m->src.len : 1;
	info.text = m->text;
	info.warning = warning_name[m->warning];
	return hand_out(out, out->size, &info, sizeof info);
}

const char *
hexc_build_id(void)
{
	return
#include "lib/build_id.inc"
		;
}

const char *
hexc_build_info(void)
{
#define STR2(x) #x
#define STR(x) STR2(x)
#define VERSION STR(HEXC_VERSION_MAJOR) "." STR(HEXC_VERSION_MINOR) "." STR(HEXC_VERSION_PATCH)
	/* one static text per pair of LLVM versions, so no buffer is needed */
#define SAME(built) "hexc " VERSION ", LLVM " #built
#define OTHER(built, running) "hexc " VERSION ", built with LLVM " #built ", runs with " running
	static const char *const info[4][5] = {
		{ SAME(19), OTHER(19, "LLVM 20"), OTHER(19, "LLVM 21"), OTHER(19, "LLVM 22"),
		  OTHER(19, "another one") },
		{ OTHER(20, "LLVM 19"), SAME(20), OTHER(20, "LLVM 21"), OTHER(20, "LLVM 22"),
		  OTHER(20, "another one") },
		{ OTHER(21, "LLVM 19"), OTHER(21, "LLVM 20"), SAME(21), OTHER(21, "LLVM 22"),
		  OTHER(21, "another one") },
		{ OTHER(22, "LLVM 19"), OTHER(22, "LLVM 20"), OTHER(22, "LLVM 21"), SAME(22),
		  OTHER(22, "another one") },
	};
	int built = ptxgen_llvm_major(), running = ptxgen_llvm_running();

	return info[built - 19][running >= 19 && running <= 22 ? running - 19 : 4];
}

/* util_dump.c - compiles a program and returns the IR of its kernels after a given pass. */
#include "lib/hexc.h"
#include "test/check.h"
#include "test/ir/util_ir.h"
#include "test/validate/util_dump.h"
#include "test/util_file.h"
#include <stdlib.h>
#include <string.h>

static void
keep(void *user, const char *pass, const char *kernel, const char *ir)
{
	Dump *d = user;

	(void)pass;
	(void)kernel;
	ck_assert_int_lt(d->n, DUMP_MOST);
	d->ir[d->n] = strdup(ir);
	ck_assert_ptr_nonnull(d->ir[d->n++]);
}

void
dump_make(Dump *d, const char *pass)
{
	hexc_opts opts = HEXC_OPTS_INIT;
	hexc_module *m = NULL;
	hexc_ctx *ctx;
	size_t n;
	const char *source = file_read(d->file, &n);

	d->n = 0;
	opts.arch = d->arch;
	opts.schedule = d->schedule;
	opts.flags = HEXC_NO_EMIT;
	opts.dump = pass;
	opts.text = keep;
	opts.user = d;
	ck_assert_int_eq(hexc_open(&ctx, &opts), HEXC_OK);
	if (hexc_compile(&m, ctx, d->file, source, n) != HEXC_OK)
		ck_assert_msg(d->schedule != NULL, "%s %s", d->file, d->arch);
	hexc_module_free(m);
	hexc_close(ctx);
}

void
dump_free(Dump *d)
{
	while (d->n)
		free(d->ir[--d->n]);
}

Kernel *
dump_read(const Dump *d, int i, Unit *u)
{
	u->target = target_find(d->arch);
	return ir_read(u, d->ir[i]);
}

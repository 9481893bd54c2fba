/* util_lib.c - programs for the tests of the API, and an allocator that counts and fails (util_lib.h). */
#include "test/lib/util_lib.h"
#include "test/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char lib_add[] = "kernel add(A: f32[N], B: f32[N], C: out f32[N])\n"
                       "    tune BN = 128|256, WARPS = 1|4\n"
                       "{\n"
                       "    grid(ceil(N, BN));\n"
                       "    let i = block.x * BN;\n"
                       "    C[i :+ BN] = A[i :+ BN] + B[i :+ BN];\n"
                       "}\n";

const char lib_gemm[] = "kernel gemm(A: f16[M, K], B: f16[N, K], C: out f16[M, N])\n"
                        "    assume K % 8 == 0, N <= 4096\n"
                        "    tune BM = 32|64, BN = 32, BK = 16|32, STAGES = 2|3, WARPS = 2\n"
                        "{\n"
                        "    grid(ceil(M, BM), ceil(N, BN));\n"
                        "    let m = block.x * BM, n = block.y * BN;\n"
                        "    var acc: register f32[BM, BN] = 0;\n"
                        "    pipeline k in 0..K step BK stages STAGES {\n"
                        "        let a: shared = A[m :+ BM, k :+ BK];\n"
                        "        let b: shared = B[n :+ BN, k :+ BK];\n"
                        "        acc += dot(a, b.T);\n"
                        "    }\n"
                        "    C[m :+ BM, n :+ BN] = f16(acc);\n"
                        "}\n";

const char lib_mapped[] =
	"kernel k(A: f16[M, K], B: f16[N, K], C: out f32[M, N])\n"
	"    assume K % 8 == 0, N % 8 == 0\n"
	"{\n"
	"    grid(ceil(M, 64), ceil(N, 32));\n"
	"    let a: shared f16[64, 64], b: shared f16[32, 64];\n"
	"    let full: mbarrier[1] = 1, empty: mbarrier[1] = 1;\n"
	"    roles {\n"
	"        producer warps 4 {\n"
	"            for k in 0..K step 64 {\n"
	"                await empty[0], k / 64 + 1;\n"
	"                async copy(A[block.x * 64 :+ 64, k :+ 64], a, full[0]);\n"
	"                async copy(B[block.y * 32 :+ 32, k :+ 64], b, full[0]);\n"
	"                arrive full[0];\n"
	"            }\n"
	"        }\n"
	"        consumer warps 4 {\n"
	"            var acc: register f32[64, 32] = 0;\n"
	"            for k in 0..K step 64 {\n"
	"                await full[0], k / 64;\n"
	"                acc += async dot(a, b.T);\n"
	"                wait dots 0;\n"
	"                arrive empty[0];\n"
	"            }\n"
	"            C[block.x * 64 :+ 64, block.y * 32 :+ 32] = acc;\n"
	"        }\n"
	"    }\n"
	"}\n";

hexc_module *
lib_compile(const char *src, const hexc_opts *opts, int *code, char *why, size_t nwhy)
{
	hexc_module *m = NULL;
	hexc_diag_info d = HEXC_DIAG_INFO_INIT;
	hexc_ctx *ctx;

	if (nwhy)
		why[0] = 0;
	*code = hexc_open(&ctx, opts);
	if (*code)
		return NULL;
	*code = hexc_compile(&m, ctx, "t.hexc", src, strlen(src));
	if (nwhy && hexc_diag(ctx, 0, &d))
		snprintf(why, nwhy, "%u:%u: %s", d.line, d.col, d.text);
	hexc_close(ctx);
	return m;
}

hexc_module *
lib_must(const char *src, const hexc_opts *opts)
{
	char why[300];
	int code;
	hexc_module *m = lib_compile(src, opts, &code, why, sizeof why);

	ck_assert_msg(m && !code, "code %d: %s", code, why);
	return m;
}

void *
lib_realloc(void *user, void *p, size_t n)
{
	LibAlloc *a = user;
	void *q;

	if (n == 0) {
		a->live -= p != NULL;
		free(p);
		return NULL;
	}
	a->calls++;
	if (a->fail_at && (a->once ? a->calls == a->fail_at : a->calls >= a->fail_at))
		return NULL;
	q = realloc(p, n);
	a->live += q && !p;
	return q;
}

void
lib_seal(unsigned char *data, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		if (i < 24 || i >= 32)
			h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	for (int i = 0; i < 8; i++)
		data[24 + i] = (unsigned char)(h >> 8 * i);
}

void
lib_same(const hexc_module *a, const hexc_module *b)
{
	size_t n, k;
	char *x, *y;

	ck_assert_int_eq(hexc_module_save(a, NULL, 0, NULL, 0, &n), HEXC_OK);
	ck_assert_int_eq(hexc_module_save(b, NULL, 0, NULL, 0, &k), HEXC_OK);
	ck_assert_uint_eq(n, k);
	x = malloc(n);
	y = malloc(n);
	hexc_module_save(a, NULL, 0, x, n, &n);
	hexc_module_save(b, NULL, 0, y, n, &n);
	ck_assert(memcmp(x, y, n) == 0);
	free(x);
	free(y);
}

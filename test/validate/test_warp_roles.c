/* test_warp_roles.c - tests that the validator checks descriptors and TMA boxes: it accepts inferred wgmmas
 * and TMA copies, and rejects them once a field, a layout or a map is changed. */
#include "infer/validate/validate.h"
#include "test/infer/util_infer.h"
#include "test/validate/util_prove.h"
#include "test/check.h"
#include <string.h>

/* A by rows along k, of which two blocks are a tile's; B by rows along n. */
static const char source[] =
	"kernel product(A: f16[M, K], B: f16[K, N], C: out f16[M, N])\n"
	"    assume K % 8 == 0, N % 8 == 0\n"
	"    const BM = 128, BN = 128, BK = 128, STAGES = 2, WARPS = 8\n"
	"{\n"
	"    grid(ceil(M, BM), ceil(N, BN));\n"
	"    let m = block.x * BM, n = block.y * BN;\n"
	"    let a: shared f16[STAGES, BM, BK], b: shared f16[STAGES, BK, BN], c: shared f16[BM, BN];\n"
	"    let full: mbarrier[STAGES] = 1, empty: mbarrier[STAGES] = 1;\n"
	"    roles {\n"
	"        producer warps 4 {\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await empty[s], turn / STAGES + 1;\n"
	"                async copy(A[m :+ BM, k :+ BK], a[s], full[s]);\n"
	"                async copy(B[k :+ BK, n :+ BN], b[s], full[s]);\n"
	"                arrive full[s];\n"
	"            }\n"
	"        }\n"
	"        consumer warps WARPS {\n"
	"            var acc: register f32[BM, BN] = 0;\n"
	"            for k in 0..K step BK {\n"
	"                let turn = k / BK, s = turn % STAGES;\n"
	"                await full[s], turn / STAGES;\n"
	"                acc += async dot(a[s], b[s]);\n"
	"                wait dots 0;\n"
	"                arrive empty[s];\n"
	"            }\n"
	"            c[:, :] = f16(acc);\n"
	"            async store(c, C[m :+ BM, n :+ BN]);\n"
	"            wait stores 0;\n"
	"        }\n"
	"    }\n"
	"}\n";

static Op *
product(Kernel *k)
{
	return prove_op(k->body, O_wgmma, 0);
}

static LoweredMatrix *
matrix(Kernel *k, int i)
{
	return &product(k)->lowering->dot.matrix[i];
}

static Val *
tile(Kernel *k, int nth)
{
	return prove_op(k->body, O_alloc, nth)->out[0];
}

/* The layout of an alloc, changed. */
static Layout *
other_layout(Kernel *k, int nth)
{
	Layout *l = NEW(k->unit->arena, Layout);

	*l = *tile(k, nth)->type.layout;
	tile(k, nth)->type.layout = l;
	return l;
}

static void
width_of_a(Kernel *k)
{
	matrix(k, 0)->width = 64;
}

static void
stride_of_a(Kernel *k)
{
	matrix(k, 0)->stride /= 2;
}

static void
stride_of_b(Kernel *k)
{
	matrix(k, 1)->stride *= 2;
}

static void
lead_of_b(Kernel *k)
{
	matrix(k, 1)->lead += 1024;
}

static void
major_of_a(Kernel *k)
{
	matrix(k, 0)->mn = true;
}

static void
not_turned(Kernel *k)
{
	IMM_SET(product(k), transposed, IMM(product(k), transposed) ^ 2);
}

static void
columns(Kernel *k)
{
	product(k)->lowering->dot.n = 256;
}

static void
no_columns(Kernel *k)
{
	product(k)->lowering->dot.n = 12;
}

static void
other_row(Kernel *k)
{
	product(k)->lowering->dot.inst = "wgmma_f32_bf16_ss";
}

static void
in_registers(Kernel *k)
{
	product(k)->lowering->dot.inst = "wgmma_f32_f16_rs";
}

static void
swapped(Kernel *k)
{
	product(k)->lowering->dot.swap = true;
}

static void
swizzle_of_a(Kernel *k)
{
	other_layout(k, 0)->swizzle.bits = 2;
}

static void
no_swizzle_of_b(Kernel *k)
{
	other_layout(k, 1)->swizzle.bits = 0;
}

static void
aligned_less(Kernel *k)
{
	IMM_SET(prove_op(k->body, O_alloc, 0), align, 512);
}

static void
box(Kernel *k)
{
	k->map[0].box[0] = 32;
}

static void
box_too_large(Kernel *k)
{
	k->map[0].box[0] = 128;
}

static void
box_rows(Kernel *k)
{
	k->map[1].box[1] = 64;
	k->map[1].swizzle = 64;
}

static void
map_swizzle(Kernel *k)
{
	k->map[1].swizzle = 64;
}

static void
other_map(Kernel *k)
{
	prove_op(k->body, O_copy, 0)->lowering->access.tensor_map = 2;
}

static void
no_map(Kernel *k)
{
	prove_op(k->body, O_copy, 1)->lowering->access.tensor_map = 0;
}

static void
map_type(Kernel *k)
{
	k->map[0].dtype = D_bf16;
}

static void
sizes_turned(Kernel *k)
{
	Val *v = k->map[0].size[0];

	k->map[0].size[0] = k->map[0].size[1];
	k->map[0].size[1] = v;
}

static void
load_as_store(Kernel *k)
{
	prove_op(k->body, O_copy, 0)->lowering->access.inst = "tma_store";
}

static const Corruption corruption[] = {
	{ "a's width", width_of_a, "of the tile; the descriptor addresses byte" },
	{ "a's stride", stride_of_a, "of the tile; the descriptor addresses byte" },
	{ "b's stride", stride_of_b, "of the tile; the descriptor addresses byte" },
	{ "b's lead", lead_of_b, "of the tile; the descriptor addresses byte" },
	{ "a's major", major_of_a, "of the tile; the descriptor addresses byte" },
	{ "b not turned", not_turned, "of the tile; the descriptor addresses byte" },
	{ "wider instances", columns, "64 registers are not a multiple of those per instruction" },
	{ "instances of 12", no_columns, "does not support 12 columns" },
	{ "another type", other_row, "does not support these types" },
	{ "a in registers", in_registers, "does not support operand 0 in that memory" },
	{ "swapped", swapped, "the rows of an instruction are not contiguous" },
	{ "a's swizzle", swizzle_of_a, "of the tile, but its TMA box places it at" },
	{ "b without swizzle", no_swizzle_of_b, "of the tile, but its TMA box places it at" },
	{ "a at 512 bytes", aligned_less, "the operand is not a tile at a multiple of 1024 bytes" },
	{ "a box of half a block", box, "of the tile, which is not the start of a swizzle pattern" },
	{ "a box of two blocks", box_too_large, "bytes do not fit swizzle 128" },
	{ "boxes of other rows", box_rows, "bytes do not fit swizzle 64" },
	{ "another swizzle of the map", map_swizzle, "bytes do not fit swizzle 64" },
	{ "the map of the other tensor", other_map, "the tensor map belongs to another tensor, or no "
	                                            "dimension of it is contiguous" },
	{ "no map", no_map, "no tensor map, no tile, or no TMA tensor copy on" },
	{ "a map of another type", map_type, "the tensor map has another element type" },
	{ "sizes exchanged", sizes_turned, "of the tensor map is not dimension" },
	{ "a load by stores", load_as_store, "is not a copy of kind 2" },
};

TEST_EACH(corruptions, COUNT_OF(corruption))
{
	Inferred x;

	infer_source(&x, source, "sm_90a", 0, false);
	prove_rejects(x.k, pass_validate, &corruption[_i]);
	infer_free(&x);
}

/* test_tmap.c - tests tensor maps: the driver's rules, the 128 bytes, and the mapping of elements to bytes,
 * against a model that works element by element from the ISA's tables. */
#include "test/check.h"
#include "test/sim/simtest.h"
#include "test/sim/exec/tmapmodel.h"

static sim_tmap_desc
plain(void)
{
	sim_tmap_desc d = SIM_TMAP_INIT;

	d.type = SIM_TMAP_F16;
	d.rank = 3;
	d.address = 0x1000;
	d.dim[0] = 64;
	d.dim[1] = 40;
	d.dim[2] = 5;
	d.stride[0] = 128;
	d.stride[1] = 128 * 40;
	d.box[0] = 64;
	d.box[1] = 8;
	d.box[2] = 2;
	return d;
}

static sim_tmap_desc
pixels(void)
{
	sim_tmap_desc d = plain();

	d.im2col = 1;
	d.rank = 4;
	d.dim[1] = 9;
	d.dim[2] = 14;
	d.dim[3] = 64;
	d.stride[1] = 128 * 9;
	d.stride[2] = 128 * 9 * 14;
	d.lower[0] = d.lower[1] = d.upper[0] = d.upper[1] = -1;
	d.channels = 8;
	d.pixels = 64;
	return d;
}

/* ---- rules ---- */

/* What is changed in a good description, and a piece of the sentence. */
#define RULES(X) \
	X(plain, d.type = 13, "need sm_100") X(plain, d.type = 99, "unknown") \
	X(plain, d.rank = 0, "rank 0") X(plain, d.rank = 6, "rank 6") X(pixels, d.rank = 2, "rank 2") \
	X(plain, d.address = 0x1008, "global address") \
	X(plain, d.dim[1] = 0, "dimension 1") X(plain, d.dim[2] = (1ull << 32) + 1, "dimension 2") \
	X(plain, d.stride[0] = 136, "stride 136") X(plain, d.stride[1] = 1ull << 40, "2^40") \
	X(plain, d.box[1] = 0, "box size 0") X(plain, d.box[2] = 257, "box size 257") \
	X(plain, d.box[0] = 12, "24 bytes") \
	X(plain, d.element_stride[1] = 0, "element stride 0") \
	X(plain, d.element_stride[2] = 9, "element stride 9") \
	X(plain, d.interleave = 3, "interleave 3") \
	X(plain, (d.interleave = 1, d.rank = 2), "rank 3 or more") \
	X(plain, (d.interleave = 2, d.address = 0x1010, d.swizzle = 1), "multiple of 32") \
	X(plain, (d.interleave = 2, d.stride[0] = 144, d.swizzle = 1), "multiple of 32") \
	X(plain, d.interleave = 2, "32-byte swizzle") X(plain, d.interleave = 1, "not simulated") \
	X(plain, d.swizzle = 4, "need sm_100") X(plain, d.swizzle = 7, "swizzle 7") \
	X(plain, d.swizzle = SIM_SWIZZLE_64B, "more than the 64") \
	X(plain, (d.box[0] = 32, d.swizzle = SIM_SWIZZLE_128B), "not simulated") \
	X(plain, d.l2_promotion = 4, "L2 promotion") X(plain, d.oob_fill = 2, "fill 2") \
	X(plain, (d.type = SIM_TMAP_U16, d.oob_fill = SIM_FILL_NAN), "NaN fill") \
	X(plain, d.size = 8, "SIM_TMAP_INIT") \
	X(pixels, d.channels = 0, "channels") X(pixels, d.channels = 257, "257 channels") \
	X(pixels, d.pixels = 0, "pixels") X(pixels, d.pixels = 1025, "1025 pixels") \
	X(pixels, d.lower[1] = -129, "corners") X(pixels, d.upper[0] = 128, "corners") \
	X(pixels, (d.rank = 5, d.dim[4] = 2, d.stride[3] = 4096, d.lower[2] = -17), "corners") \
	X(pixels, d.upper[0] = -11, "is empty") X(pixels, d.channels = 12, "24 bytes")

TEST(rules)
{
	char why[200];
	sim_tmap m;
	sim_tmap_desc d;
	int n = 0;

#define X(from, change, text) \
	d = from(); \
	ck_assert_int_eq(sim_tmap_encode(&m, &d, why, sizeof why), SIM_OK); \
	(void)(change); \
	why[0] = 0; \
	ck_assert_msg(sim_tmap_encode(&m, &d, why, sizeof why) == SIM_E_INVALID, "accepted: %s", #change); \
	ck_assert_msg(strstr(why, text) != NULL, "%s: '%s'", #change, why); \
	ck_assert_int_eq(sim_tmap_encode(&m, &d, NULL, 0), SIM_E_INVALID); \
	n++;
	RULES(X)
#undef X
	ck_assert_int_gt(n, 30);
}

TEST(limits_are_allowed)
{
	char why[200] = "";
	sim_tmap m;
	sim_tmap_desc d = plain(), e;

	d.rank = 5;
	d.dim[4] = 1ull << 32;
	d.dim[3] = (1ull << 32) - 1;
	d.stride[2] = (1ull << 40) - 16;
	d.stride[3] = 0;
	d.box[3] = d.box[4] = 256;
	d.box[1] = d.box[2] = 1;
	d.element_stride[1] = 8;
	d.oob_fill = SIM_FILL_NAN;
	d.swizzle = SIM_SWIZZLE_128B;
	ck_assert_msg(sim_tmap_encode(&m, &d, why, sizeof why) == SIM_OK, "%s", why);
	ck_assert_int_eq(sim_tmap_decode(&m, &e), SIM_OK);
	ck_assert_mem_eq(&d, &e, sizeof d);
	d = pixels();
	memset(d.box, 0, sizeof d.box);
	memset(d.element_stride + 4, 0, sizeof d.element_stride[4]);
	ck_assert_msg(sim_tmap_encode(&m, &d, why, sizeof why) == SIM_OK, "%s", why);
	ck_assert_int_eq(sim_tmap_decode(&m, &e), SIM_OK);
	ck_assert_int_eq(e.lower[1], -1);
	ck_assert_uint_eq(e.channels, 8);
	ck_assert_uint_eq(e.im2col, 1);
}

/* Any changed bit is noticed. */
TEST(damage)
{
	sim_tmap m, bad;
	sim_tmap_desc d = plain(), e;

	ck_assert_int_eq(sim_tmap_encode(&m, &d, NULL, 0), SIM_OK);
	for (int i = 0; i < 1024; i++) {
		bad = m;
		bad.opaque[i / 64] ^= 1ull << i % 64;
		ck_assert_int_eq(sim_tmap_decode(&bad, &e), SIM_E_INVALID);
	}
	memset(&bad, 0, sizeof bad);
	ck_assert_int_eq(sim_tmap_decode(&bad, &e), SIM_E_INVALID);
}

/* A map whose bytes the host has edited: the fault names the field, what it is and what it was. */
TEST(edited)
{
	static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .align 64 .b8 tm[128])\n{\n.reg .b64 %d;\n"
		"mov.b64 %d, tm;\ncvta.param.u64 %d, %d;\n"
		"cp.async.bulk.prefetch.tensor.3d.L2.global [%d, {0, 0, 0}];\nret;\n}\n";
	static const struct {
		uint64_t address;
		uint32_t box, dim;
		const char *told;
	} cases[] = {
		{ 0x5000, 2, 64, "was modified other than by tensormap.replace: globalAddress 0x5000, was "
		                 "0x1000" },
		{ 0x1000, 3, 64, ": boxDim[2] 3, was 2" },
		{ 0x5000, 2, 128, ", or it was overwritten" },
	};
	sim *s = sim_open();
	sim_module *m = must_load(s, text);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		sim_tmap_desc d = plain();
		sim_launch l = SIM_LAUNCH_INIT;
		sim_tmap map, other;
		const void *args[] = { &map };
		sim_result *r;
		sim_fault f;
		ck_assert_int_eq(sim_tmap_encode(&map, &d, NULL, 0), SIM_OK);
		d.address = cases[i].address;
		d.box[2] = cases[i].box;
		d.dim[0] = cases[i].dim;
		ck_assert_int_eq(sim_tmap_encode(&other, &d, NULL, 0), SIM_OK);
		memcpy(&map.opaque[2], &other.opaque[2], sizeof map - 16);      /* all but the sums */
		l.args = args;
		ck_assert_int_eq(sim_run(s, m, "k", &l, &r), SIM_E_FAULT);
		ck_assert(sim_fault_at(r, 0, &f) && f.kind == SIM_FAULT_TMAP);
		ck_assert_msg(strstr(f.text, cases[i].told) != NULL, "no \"%s\": %s", cases[i].told, f.text);
		sim_result_free(r);
	}
	sim_close(s);
}

/* ---- addresses ---- */

/* All elements of one box: the walk of the simulator against the model. */
static void
compare(const sim_tmap_desc *d, const int32_t *start, const uint32_t *off, uint32_t base)
{
	uint32_t e = esize(d), per = tmap_row(d) / e, k = 0;
	char why[200];
	BoxRow row;
	Box b;

	ck_assert_msg(box_start(&b, d, start, off, why, sizeof why), "%s", why);
	while (box_next(&b, &row))
		for (uint32_t i = 0; i < per; i++, k++) {
			Want w = d->im2col ? pixel_element(d, start, off, k) : tile_element(d, start, k);
			bool in = i >= row.from && i < row.to;
			ck_assert_msg(w.inside == in, "element %u of %u: inside %d", k, per, in);
			if (in)
				ck_assert_uint_eq(row.addr + (uint64_t)(i - row.from) * e, w.addr);
			ck_assert_uint_eq(box_swizzle(d, base + k * e), swizzled(d->swizzle, base + k * e));
		}
	ck_assert_uint_eq(k * e, tmap_bytes(d));
}

TEST_EACH(boxes, 8)
{
	char why[200];
	sim_tmap m;
	int done = 0;

	seed = (uint32_t)_i + 1;
	while (done < 300) {
		bool im2col = rnd(2);
		uint32_t rank = im2col ? 3 + rnd(3) : 1 + rnd(5), off[3];
		sim_tmap_desc d = random_map(rank, im2col), back;
		int32_t start[5];
		if (sim_tmap_encode(&m, &d, why, sizeof why) != SIM_OK) {
			/* the only bad luck */
			ck_assert_msg(strstr(why, "is empty") != NULL, "%s", why);
			continue;
		}
		ck_assert_int_eq(sim_tmap_decode(&m, &back), SIM_OK);
		random_start(&d, start, off);
		compare(&back, start, off, 128 * rnd(9));
		done++;
	}
}

/* CUTLASS clears bit 21 of the second word of the maps of small tensors, whatever it may mean. */
TEST(hosts_clear_a_bit)
{
	for (uint64_t i = 0; i < 64; i++) {
		sim_tmap_desc d = plain(), e;
		sim_tmap m;
		d.address += 16 * i;
		ck_assert_int_eq(sim_tmap_encode(&m, &d, NULL, 0), SIM_OK);
		m.opaque[1] &= ~(1ull << 21);
		ck_assert_int_eq(sim_tmap_decode(&m, &e), SIM_OK);
		ck_assert_uint_eq(e.address, d.address);
	}
}

/* The examples of the section "im2col mode", W = 9 or 8, H = 14, N = 64: which pixels come, and
 * after which one a line or an image ends. */
TEST(isa_examples)
{
	static const struct {
		int32_t w, lower, upper, stride, start[4];
		uint32_t off, pixels;
		int64_t second[3], last[3];     /* W, H, N as read */
	} ex[] = {
		/* 3x3 filter with padding, base (w 4, h 7, n 7): 9 places a line; 64 pixels on */
		{ 9, -1, -1, 1, { 0, 4, 7, 7 }, 0, 64, { 5, 7, 7 }, { 4, 0, 8 } },
		/* without padding: 7 places a line, 12 lines */
		{ 9, 0, -2, 1, { 0, 4, 7, 7 }, 2, 64, { 7, 9, 7 }, { 6, 6, 8 } },
		/* stride 2: -1 1 3 5 in a line of 8 */
		{ 8, -1, -1, 2, { 0, 5, 7, 7 }, 1, 32, { 0, 10, 7 }, { 4, 10, 8 } },
	};

	for (size_t i = 0; i < sizeof ex / sizeof *ex; i++) {
		sim_tmap_desc d = pixels();
		uint32_t off[3] = { ex[i].off, ex[i].off, 0 };
		Box b;
		BoxRow row;
		int64_t seen[2][3] = { { 0 } };
		d.dim[1] = (uint64_t)ex[i].w;
		d.lower[0] = d.lower[1] = ex[i].lower;
		d.upper[0] = d.upper[1] = ex[i].upper;
		d.element_stride[1] = d.element_stride[2] = (uint32_t)ex[i].stride;
		d.pixels = ex[i].pixels;
		ck_assert(box_start(&b, &d, ex[i].start, off, NULL, 0));
		for (uint32_t r = 0; r < d.pixels; r++) {
			int64_t c[3] = { b.at[1] + off[0], b.at[2] + off[1], b.at[3] };
			ck_assert(box_next(&b, &row));
			if (r == 1)
				memcpy(seen[0], c, sizeof c);
			memcpy(seen[1], c, sizeof c);
		}
		ck_assert_mem_eq(seen[0], ex[i].second, sizeof seen[0]);
		ck_assert_mem_eq(seen[1], ex[i].last, sizeof seen[1]);
	}
}

TEST(bad_start)
{
	sim_tmap_desc d = pixels();
	int32_t start[5] = { 0, -2, 0, 0, 0 };
	uint32_t off[3] = { 0, 0, 0 };
	char why[200];
	Box b;

	ck_assert(!box_start(&b, &d, start, off, why, sizeof why));
	ck_assert(strstr(why, "is outside the pixel box -1..7") != NULL);
	start[1] = 8;
	ck_assert(!box_start(&b, &d, start, off, why, sizeof why));
	start[1] = 7;
	ck_assert(box_start(&b, &d, start, off, why, sizeof why));
	off[1] = 256;
	ck_assert(!box_start(&b, &d, start, off, why, sizeof why));
	ck_assert(strstr(why, "offset 256") != NULL);
}

TEST(fills_and_conversions)
{
	sim_tmap_desc d = plain();
	/* a subnormal, one and a half tf32 ulp above 1, infinity */
	const uint32_t in[4] = { 0x80000001u, 0x3f803000u, 0x7f800000u, 0x3f801000u };
	uint32_t v[4];

	ck_assert_uint_eq(box_fill(&d), 0);
	d.oob_fill = SIM_FILL_NAN;
	ck_assert_uint_eq(box_fill(&d), 0x7fff);
	d.type = SIM_TMAP_F32;
	ck_assert_uint_eq(box_fill(&d), 0x7fffffff);
	d.type = SIM_TMAP_F64;
	ck_assert_uint_eq(box_fill(&d), ~0ull >> 1);
	memcpy(v, in, sizeof v);
	box_convert(&d, (uint8_t *)v, sizeof v);
	ck_assert_mem_eq(v, in, sizeof v);
	d.type = SIM_TMAP_F32_FTZ;
	box_convert(&d, (uint8_t *)v, sizeof v);
	ck_assert_uint_eq(v[0], 0x80000000u);
	ck_assert_mem_eq(v + 1, in + 1, 12);
	memcpy(v, in, sizeof v);
	d.type = SIM_TMAP_TF32;         /* ties to even */
	box_convert(&d, (uint8_t *)v, sizeof v);
	ck_assert_uint_eq(v[0], 0x80000000u);
	ck_assert_uint_eq(v[1], 0x3f804000u);
	ck_assert_uint_eq(v[2], 0x7f800000u);
	ck_assert_uint_eq(v[3], 0x3f800000u);
}

TEST_PROGRAM(.timeout = 60);

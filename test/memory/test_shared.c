/* test_shared.c - tests address layouts of shared tiles against published results.
 *
 * The swizzles are golden result 14 of the Hexcute algorithm as published (arXiv 2504.16214; f16, rows of bk
 * elements contiguous, 128 threads writing by cp.async of 16 bytes, ldmatrix reading): row 16 -> (1,3,3), 32
 * -> (2,3,3), 64 -> (3,3,3), 128 -> (3,3,4); conflict ways before 2, 4, 8, 8. Wavefronts are also counted
 * here independently, from the bank rule: 32 banks of 4 bytes, 128 bytes per phase. */
#include "infer/core/sm_throughput.h"
#include "infer/convert/convert.h"
#include "infer/cost/cost.h"
#include "infer/memory/memory.h"
#include "infer/search.h"
#include "test/taskmap/util_cute.h"
#include "test/util_arena.h"
#include "test/util_layout.h"
#include <stdlib.h>
#include <string.h>

static Solve search;
static Kernel kernel;
static Unit unit;

static void
setup(void)
{
	arena_setup();
	memset(&search, 0, sizeof search);
	memset(&kernel, 0, sizeof kernel);
	unit.arena = &arena;
	kernel.unit = &unit;
	kernel.warps = 4;
	search.k = &kernel;
	search.arena = &arena;
	search.rates = rates_of(target_find("sm_80"));
}

/* 128 x bk f16 tile: cp.async of 16 bytes by 128 threads, then ldmatrix_x4 of a 16-row fragment. */
static int
accesses(int bk, SmemAccess *a, Layout *map)
{
	int64_t shape[2] = { 128, bk };
	int order[2] = { 1, 0 };

	ck_assert(coalesced_layout(&map[0], 2, shape, order, 8, 4, false));
	/* lane 8j + r: row r of matrix j; j over row halves, then column halves */
	layout_init(&map[1], 2);
	layout_push(&map[1], 0, 16, 1, AX_lane);
	layout_push(&map[1], 0, 8, 8 * bk / 8, AX_reg);
	layout_push(&map[1], 1, 8, 1, AX_reg);
	layout_push(&map[1], 1, 2, 16, AX_lane);
	if (bk > 16)
		layout_push(&map[1], 1, bk / 16, 8, AX_reg);
	for (int i = 0; i < 2; i++)
		a[i] = (SmemAccess){
			.map = &map[i],
			.rank = 2,
			.dim_of = { 0, 1 },
			.vec = 8,
			.bits = 16,
			.lanes = 32,
			.write = i == 0,
			.weight = 1,
		};
	return 2;
}

/* Worst number of distinct 16-byte groups on one bank group among the 8 lanes of a phase. */
static int
ways(const Layout *tile, int bk)
{
	int worst = 0;

	for (int row = 0; row < 128; row += 8)
		for (int col = 0; col < bk; col += 8) {
			int count[8] = { 0 };
			for (int r = 0; r < 8; r++) {
				int64_t c[2] = { row + r, col };
				int64_t byte = layout_at(tile, c).at[AX_mem] * 2;
				int b = (int)(byte / 16 % 8);
				if (++count[b] > worst)
					worst = count[b];
			}
		}
	return worst;
}

TEST_EACH(golden_swizzles, 4)
{
	static const struct {
		int bk, bits, base, shift, before;
	} want[] = { { 16, 1, 3, 3, 2 }, { 32, 2, 3, 3, 4 }, { 64, 3, 3, 3, 8 }, { 128, 3, 3, 4, 8 } };
	SmemAccess a[2];
	Layout map[2], tile, plain;
	int64_t waves, least;
	int64_t all[2];
	Type t = type_tile(D_f16, S_shared, 2, (int64_t[]){ 128, want[_i].bk });
	int n = accesses(want[_i].bk, a, map);

	shared_layout(&search, &t, 1, a, n, &tile, all);
	ck_assert_int_eq(tile.swizzle.bits, want[_i].bits);
	ck_assert_int_eq(tile.swizzle.base, want[_i].base);
	ck_assert_int_eq(tile.swizzle.shift, want[_i].shift);
	ck_assert_int_eq(ways(&tile, want[_i].bk), 1);
	plain = tile;
	plain.swizzle = (Swizzle){ 0, 0, 0 };
	ck_assert_int_eq(ways(&plain, want[_i].bk), want[_i].before);
	for (int i = 0; i < n; i++) {
		access_waves(&arena, &a[i], &tile, 4, &waves, &least);
		ck_assert_int_eq(waves, least);
		ck_assert_int_eq(waves, all[i]);
	}
	/* cp.async: 128 rows of bk f16 are bk * 2 wavefronts of 128 bytes */
	access_waves(&arena, &a[0], &tile, 4, &waves, &least);
	ck_assert_int_eq(waves, 128 * want[_i].bk * 2 / 128);
	access_waves(&arena, &a[1], &plain, 4, &waves, &least);
	ck_assert_int_eq(waves, least * want[_i].before);
}

/* Rows of 576: sums of what row and column contribute carry, so that under a swizzle no two instances have
 * addresses that follow from one another.  16 bytes behind each row do the same: 1168 bytes are 9 times all
 * banks and a bank group. */
TEST(padded_where_sums_carry)
{
	SmemAccess a[2];
	Layout map[2], tile;
	int64_t waves, least, all[2];
	Type t = type_tile(D_f16, S_shared, 2, (int64_t[]){ 128, 576 });
	int n = accesses(576, a, map);

	shared_layout(&search, &t, 1, a, n, &tile, all);
	ck_assert_int_eq(tile.swizzle.bits, 0);
	ck_assert_int_eq(layout_at(&tile, (int64_t[]){ 1, 0 }).at[AX_mem], 584);
	ck_assert_int_eq(ways(&tile, 576), 1);
	for (int i = 0; i < n; i++) {
		access_waves(&arena, &a[i], &tile, 4, &waves, &least);
		ck_assert_int_eq(waves, least);
	}
}

/* Random power-of-two accesses: the count equals one made without any of smem_swizzle.c's shortcuts. */
TEST(waves_by_hand)
{
	uint64_t seed = 88172645463325252u;

	for (int round = 0; round < 300; round++) {
		int64_t shape[2];
		int ord[2];
		Layout map, tile;
		SmemAccess a;
		int64_t waves, least, by_hand = 0;
		int bits, vec, pad;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		bits = 8 << (seed >> 8 & 3); /* 8..64 */
		vec = 1 << (seed >> 12) % 3;
		if (vec * bits > 128 || bits > 32)
			continue;
		shape[0] = 16 << (seed >> 16 & 2);
		shape[1] = 16 << (seed >> 20 & 3);
		ord[0] = (int)(seed >> 24 & 1);
		ord[1] = 1 - ord[0];
		ck_assert(coalesced_layout(&map, 2, shape, ord, ord[0] == 1 ? vec : 1, 1, false));
		if (ord[0] == 0)
			vec = 1;
		/* padded rows: lanes and instances have address bits in common, and other lanes share a word,
		 * or a swizzle moves them otherwise, in each instance */
		pad = seed >> 30 & 1 ? vec * (1 << (seed >> 32 & 3)) : 0;
		layout_rows(&tile, 2, shape, 1, shape[1] + pad);
		tile.swizzle = (Swizzle){ (int8_t)(seed >> 28 & 1), 3, 4 };
		if (layout_size(&tile) < 512)
			tile.swizzle.bits = 0;
		a = (SmemAccess){
			.map = &map,
			.rank = 2,
			.dim_of = { 0, 1 },
			.vec = vec,
			.bits = bits,
			.lanes = 32,
			.weight = 1,
		};
		access_waves(&arena, &a, &tile, 1, &waves, &least);
		int bytes = vec * bits / 8, per = bytes > 4 ? 128 / bytes : 32;
		for (int64_t i = 0; i < layout_cosize(&map, AX_reg) / vec; i++)
			for (int lo = 0; lo < 32; lo += per) {
				int64_t words[32][128];
				int n[32] = { 0 }, worst = 0;
				for (int l = lo; l < lo + per; l++)
					for (int b = 0; b < (bytes > 4 ? bytes : 4); b += 4) {
						Coord p = { .at = { 0 } };
						int64_t c[2], w;
						int j, bank;
						p.at[AX_lane] = l;
						p.at[AX_reg] = i * vec;
						layout_index(&map, &p, c);
						w = (layout_at(&tile, c).at[AX_mem] * bits / 8 + b) / 4;
						bank = (int)(w % 32);
						for (j = 0; j < n[bank] && words[bank][j] != w; j++)
							;
						if (j == n[bank])
							words[bank][n[bank]++] = w;
						worst = n[bank] > worst ? n[bank] : worst;
					}
				by_hand += worst;
			}
		ck_assert_int_eq(waves, by_hand);
		ck_assert_int_le(least, waves);
	}
}

static uint64_t
random_below(uint64_t *seed, uint64_t n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (*seed >> 16) % n;
}

/* A register layout of a tile of 2^bits elements: its coordinate bits dealt to lanes, warps and registers
 * at random, neighbours of dim 1 often to the first registers. */
static void
random_layout(uint64_t *seed, Layout *l, const int *bits)
{
	enum { LANE_BITS = 5, WARP_BITS = 2 };
	int total = bits[0] + bits[1], place[16], run = (int)random_below(seed, 3);
	int64_t regs = 1;

	for (int i = 0; i < total; i++) /* which bit of the thread and register number */
		place[i] = i;
	for (int i = total - 1; i > 0; i--) {
		int j = (int)random_below(seed, (uint64_t)i + 1), t = place[i];
		place[i] = place[j];
		place[j] = t;
	}
	/* the low bits of dim 1 to registers: swap with who has them */
	for (int i = 0; i < run && i < bits[1]; i++)
		for (int j = 0; j < total; j++)
			if (place[j] == LANE_BITS + WARP_BITS + i) {
				place[j] = place[bits[0] + i];
				place[bits[0] + i] = LANE_BITS + WARP_BITS + i;
				break;
			}
	layout_init(l, 2);
	for (int i = 0; i < total; i++) {
		int at = place[i];
		Axis axis = at < LANE_BITS ? AX_lane : at < LANE_BITS + WARP_BITS ? AX_warp
		                                                                  : AX_reg;
		int low = at < LANE_BITS ? at : at < LANE_BITS + WARP_BITS ? at - LANE_BITS
		                                                           : at - LANE_BITS - WARP_BITS;
		layout_push(l, i >= bits[0], 2, (int64_t)1 << low, axis);
	}
	layout_canon(l);
	regs = (int64_t)1 << (total - LANE_BITS - WARP_BITS);
	ck_assert_int_eq(layout_cosize(l, AX_reg), regs);
}

/* Between any two layouts of words there is a staging tile without conflicts: the proof is that one is
 * found. */
TEST(staging_is_free)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (int round = 0; round < 200; round++) {
		int bits[2] = { 3 + (int)random_below(&seed, 4), 0 };
		Layout *from = NEW(&arena, Layout), *to = NEW(&arena, Layout); /* remembered */
		int64_t waves[2];
		Staging p = { 0 };

		bits[1] = 8 + (int)random_below(&seed, 3) - bits[0] + 2;
		random_layout(&seed, from, bits);
		random_layout(&seed, to, bits);
		Type t = type_tile(D_f32, S_reg, 2,
		                   (int64_t[]){ (int64_t)1 << bits[0], (int64_t)1 << bits[1] });
		stage_find(&search, &t, from, to, true, &p, waves);
		for (int i = 0; i < 2; i++) {
			int64_t all, least;
			SmemAccess a = { .map = i ? to : from, .rank = 2, .dim_of = { 0, 1 },
			        .vec = i ? p.read.vec : p.write.vec,
				     .bits = 32, .lanes = 32, .weight = 1, .write = !i };

			access_waves(&arena, &a, p.tile, 4, &all, &least);
			ck_assert_msg(all == least,
			              "round %d, %s: %lld wavefronts, not %lld: %s to %s by %d, %d; %s",
			              round, i ? "read" : "written", (long long)all, (long long)least,
			              layout_print(&arena, from), layout_print(&arena, to), p.write.vec,
			              p.read.vec, layout_print(&arena, p.tile));
		}
	}
}

/* No swizzle of rows is better than the one found: all there are, tried one by one. */
TEST(no_better_swizzle)
{
	uint64_t seed = 0x2545f4914f6cdd1d;
	int conflicting = 0;

	for (int round = 0; round < 60; round++) {
		int bits[2] = { 3 + (int)random_below(&seed, 4), 0 }, elem = 8 << random_below(&seed, 3);
		int64_t waves[3], found = 0, best;
		Layout *map = NEWN(&arena, Layout, 3), tile;
		SmemAccess a[3];

		bits[1] = 10 - bits[0];
		Type t = type_tile(elem == 8 ? D_u8 : elem == 16 ? D_f16 : D_f32, S_shared, 2,
		                   (int64_t[]){ (int64_t)1 << bits[0], (int64_t)1 << bits[1] });
		for (int i = 0; i < 3; i++) {
			random_layout(&seed, &map[i], bits);
			a[i] = (SmemAccess){ .map = &map[i], .rank = 2, .dim_of = { 0, 1 },
			        .vec = (int)reg_run(&map[i], 1),
				         .bits = elem, .lanes = 32, .weight = 1, .write = i == 0 };
		}
		shared_layout(&search, &t, 1, a, 3, &tile, waves);
		for (int i = 0; i < 3; i++)
			found += waves[i];
		best = found;
		for (int b = 0; b <= 5; b++)
			for (int base = 0; base + b <= 10; base++)
				for (int shift = b; base + shift + b <= 10; shift++) {
					int64_t sum = 0, all, least;
					Layout l;
					bool whole = true;

					layout_rows(&l, 2, t.shape, 1, t.shape[1]);
					l.swizzle = (Swizzle){ (int8_t)b, (int8_t)base, (int8_t)shift };
					/* what an access takes at once stays together */
					for (int i = 0; i < 3 && b > 0; i++)
						whole = whole && 1 << base >= a[i].vec && elem << base >= 32;
					for (int i = 0; i < 3 && whole; i++) {
						access_waves(&arena, &a[i], &l, 4, &all, &least);
						sum += all;
					}
					if (whole && sum < best)
						best = sum;
				}
		conflicting += waves[0] + waves[1] + waves[2] > 0;
		ck_assert_msg(found == best, "round %d: %lld wavefronts, %lld would do", round,
		              (long long)found,
		              (long long)best);
	}
	ck_assert_int_gt(conflicting, 0);
}

/* Golden result 13: coalesced schedules of 128 threads, as (thread, value) layouts. */
TEST_EACH(golden_coalesced, 4)
{
	static const struct {
		int64_t shape[2];
		int first, vec;
		const char *t, *v;
	} want[] = {
		{ { 128, 32 }, 1, 8, "(4,32):(1024,1)", "(8,4):(128,32)" },
		{ { 128, 32 }, 0, 8, "(16,8):(8,128)", "(8,4):(1,1024)" },
		{ { 64, 64 }, 1, 4, "(16,8):(256,1)", "(4,8):(64,8)" },
		{ { 64, 64 }, 1, 32, "(2,64):(2048,1)", "32:64" },
	};
	int order[2] = { want[_i].first, 1 - want[_i].first };
	const Layout wt = layout_of(want[_i].t), wv = layout_of(want[_i].v);
	Layout l, t, v;

	ck_assert(coalesced_layout(&l, 2, want[_i].shape, order, want[_i].vec, 4, false));
	ck_assert(tv_from_layout(&t, &v, &l, 4));
	for (int64_t i = 0; i < 128; i++)
		ck_assert_int_eq(layout_at_index(&t, i).at[AX_mem], layout_at_index(&wt, i).at[AX_mem]);
	for (int64_t i = 0; i < layout_size(&wv); i++)
		ck_assert_int_eq(layout_at_index(&v, i).at[AX_mem], layout_at_index(&wv, i).at[AX_mem]);
}

TEST_PROGRAM(.setup = setup, .teardown = arena_teardown, .timeout = 60);

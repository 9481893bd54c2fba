/* test_plan_errors.c - tests each error of hexc_plan.h with its message; layer.c tests those of a driver. */
#include "test/lib/util_lib.h"
#include "test/ops/util_op.h"
#include "lib/hexc_plan.h"
#include <math.h>
#include <stdint.h>

static hexc_plan *p;
static uint32_t id;

static void
setup(void)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;

	o.streams = 2;
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	ck_assert_str_eq(hexc_plan_why(p), "");
	ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
	w.name = "second";
	ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
	ck_assert_int_eq(hexc_plan_buffer(p, 100, &id), HEXC_OK);
	ck_assert_int_eq(hexc_plan_outside(p, NULL, 100, &id), HEXC_OK);
}

static void
teardown(void)
{
	hexc_plan_free(p);
}

#define FAILS(call, code, text)                                  \
	do {                                                     \
		ck_assert_msg(call == (code), "%s: %s", #call, hexc_plan_why(p)); \
		ck_assert_str_eq(hexc_plan_why(p), text);        \
	} while (0)

static int
nothing(void *user, void *stream)
{
	(void)user;
	(void)stream;
	return HEXC_OK;
}

TEST(options)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan *q = p;

	ck_assert_int_eq(hexc_plan_new(NULL, NULL), HEXC_E_INVALID);
	o.streams = 17;
	ck_assert_int_eq(hexc_plan_new(&q, &o), HEXC_E_INVALID);
	ck_assert_ptr_null(q);
	o.streams = 16;
	o.align = 48;
	ck_assert_int_eq(hexc_plan_new(&q, &o), HEXC_E_INVALID);
	o.align = 64;
	o.sync_us = -1;
	ck_assert_int_eq(hexc_plan_new(&q, &o), HEXC_E_INVALID);
	o.sync_us = NAN;
	ck_assert_int_eq(hexc_plan_new(&q, &o), HEXC_E_INVALID);
	o.size = offsetof(hexc_plan_opts, sync_us); /* an older host's */
	ck_assert_int_eq(hexc_plan_new(&q, &o), HEXC_OK);
	hexc_plan_free(q);
	hexc_plan_free(NULL);
	ck_assert_str_eq(hexc_plan_why(NULL), "");
}

TEST(nodes_and_buffers)
{
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;

	w.us = -1;
	FAILS(hexc_plan_node(p, &w, &id), HEXC_E_INVALID, "time of -1 microseconds is out of range: 0 to "
	                                                  "10^9");
	w.us = NAN;
	ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_E_INVALID);
	w.us = 1;
	w.fill = 1.5;
	FAILS(hexc_plan_node(p, &w, &id), HEXC_E_INVALID, "device fraction 1.5 of a node is out of range: "
	                                                  "0 to 1");
	w.fill = 1;
	w.call = (hexc_call *)&w;
	w.launch = nothing;
	FAILS(hexc_plan_node(p, &w, &id), HEXC_E_INVALID,
	      "node 2 has both a call and a launch callback");
	ck_assert_int_eq(hexc_plan_node(p, NULL, &id), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_node(p, &w, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_node(NULL, &w, &id), HEXC_E_INVALID);
	FAILS(hexc_plan_buffer(p, UINT64_MAX, &id), HEXC_E_INVALID, "a buffer of 2^48 bytes or more");
	ck_assert_int_eq(hexc_plan_buffer(p, 1, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_buffer(NULL, 1, &id), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_outside(NULL, NULL, 1, &id), HEXC_E_INVALID);
	for (uint32_t i = 2; i < 65535; i++)
		ck_assert_int_eq(hexc_plan_buffer(p, 1, &id), HEXC_OK);
	FAILS(hexc_plan_outside(p, NULL, 1, &id), HEXC_E_LIMIT, "a plan can have at most 65535 buffers");
}

TEST(uses)
{
	FAILS(hexc_plan_use(p, 2, 0, HEXC_PLAN_READ), HEXC_E_INVALID,
	      "node 2 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_use(p, 1, 2, HEXC_PLAN_READ), HEXC_E_INVALID,
	      "buffer 2 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_use(p, 1, 1, 0), HEXC_E_INVALID,
	      "buffer 1 has the invalid access mode 0; expected HEXC_PLAN_READ, HEXC_PLAN_WRITE or both");
	FAILS(hexc_plan_use(p, 1, 1, 4), HEXC_E_INVALID,
	      "buffer 1 has the invalid access mode 4; expected HEXC_PLAN_READ, HEXC_PLAN_WRITE or both");
	ck_assert_int_eq(hexc_plan_use(NULL, 1, 1, 1), HEXC_E_INVALID);
	FAILS(hexc_plan_arg(p, 1, 0, 0), HEXC_E_INVALID,
	      "node 1 (second) has no call; declare its buffers with hexc_plan_use");
	FAILS(hexc_plan_arg(p, 3, 0, 0), HEXC_E_INVALID, "node 3 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_arg(p, 0, 0, 9), HEXC_E_INVALID,
	      "buffer 9 does not exist: valid indices are 0 to 1");
	ck_assert_int_eq(hexc_plan_arg(NULL, 0, 0, 0), HEXC_E_INVALID);
	FAILS(hexc_plan_after(p, 0, 1), HEXC_E_INVALID,
	      "node 0 cannot depend on node 1; it may only depend on nodes added before it");
	FAILS(hexc_plan_after(p, 1, 1), HEXC_E_INVALID,
	      "node 1 cannot depend on node 1; it may only depend on nodes added before it");
	FAILS(hexc_plan_after(p, 7, 1), HEXC_E_INVALID, "node 7 does not exist: valid indices are 0 to 1");
	ck_assert_int_eq(hexc_plan_after(NULL, 1, 0), HEXC_E_INVALID);
}

TEST(changes)
{
	FAILS(hexc_plan_set_bytes(p, 2, 1), HEXC_E_INVALID,
	      "buffer 2 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_set_bytes(p, 1, UINT64_MAX), HEXC_E_INVALID, "a buffer of 2^48 bytes or more");
	FAILS(hexc_plan_set_ptr(p, 0, p), HEXC_E_INVALID,
	      "buffer 0 is owned by the plan: its memory is part of that of hexc_plan_bind");
	FAILS(hexc_plan_set_ptr(p, 5, p), HEXC_E_INVALID,
	      "buffer 5 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_set_time(p, 2, 1, 1), HEXC_E_INVALID,
	      "node 2 does not exist: valid indices are 0 to 1");
	FAILS(hexc_plan_set_time(p, 1, 2e9, 1), HEXC_E_INVALID,
	      "time of 2e+09 microseconds is out of range: 0 to 10^9");
	ck_assert_int_eq(hexc_plan_set_bytes(NULL, 0, 1), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_set_ptr(NULL, 0, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_set_time(NULL, 0, 1, 1), HEXC_E_INVALID);
}

TEST(solving)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan_step step = HEXC_PLAN_STEP_INIT;
	void *stream = NULL;
	uint64_t at;

	ck_assert(!hexc_plan_describe(p, &info));
	ck_assert(!hexc_plan_step_at(p, 0, &step));
	ck_assert_int_eq(hexc_plan_wait_at(p, 0, 0), -1);
	ck_assert_int_eq(hexc_plan_offset(p, 0, &at), HEXC_E_INVALID);
	FAILS(hexc_plan_refit(p), HEXC_E_INVALID,
	      "it is not solved, or was changed since; call hexc_plan_solve");
	ck_assert_int_eq(hexc_plan_use(p, 1, 0, HEXC_PLAN_READ), HEXC_OK);
	FAILS(hexc_plan_solve(p), HEXC_E_INVALID,
	      "node 1 (second) reads buffer 0, which no preceding node writes; add a node that writes it, "
	      "or declare it as a host buffer with hexc_plan_outside");
	ck_assert(!hexc_plan_describe(p, &info));
	ck_assert_int_eq(hexc_plan_use(p, 0, 0, HEXC_PLAN_WRITE), HEXC_OK);
	ck_assert_int_eq(hexc_plan_use(p, 1, 1, HEXC_PLAN_WRITE | HEXC_PLAN_READ), HEXC_OK);
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	info.size = offsetof(hexc_plan_info, serial_us); /* an older host's */
	info.serial_us = 17;
	ck_assert(hexc_plan_describe(p, &info));
	ck_assert(info.serial_us == 17 && info.size == offsetof(hexc_plan_info, serial_us));
	ck_assert(!hexc_plan_describe(p, NULL) && !hexc_plan_describe(NULL, &info));
	ck_assert(hexc_plan_step_at(p, 1, &step) && !hexc_plan_step_at(p, 2, &step));
	ck_assert_uint_eq(step.node, 1);
	ck_assert_int_eq(hexc_plan_offset(p, 2, &at), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_offset(p, 0, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_solve(NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_refit(NULL), HEXC_E_INVALID);
	FAILS(hexc_plan_bind(p, (void *)(uintptr_t)0x1010, 5), HEXC_E_ARGS,
	      "the memory is at 0x1010, which is not a multiple of 256");
	ck_assert_int_eq(hexc_plan_bind(NULL, NULL, 0), HEXC_E_INVALID);
	FAILS(hexc_plan_launch(p, &stream, 1), HEXC_E_INVALID,
	      "the plan has no GPU; pass one in the options of hexc_plan_new");
	FAILS(hexc_plan_capture(p, &stream, 1), HEXC_E_INVALID,
	      "the plan has no GPU; pass one in the options of hexc_plan_new");
	FAILS(hexc_plan_replay(p, stream), HEXC_E_INVALID, "no graph was captured; call hexc_plan_capture");
	FAILS(hexc_plan_update(p), HEXC_E_INVALID, "no graph was captured; call hexc_plan_capture");
	ck_assert_int_eq(hexc_plan_launch(p, NULL, 1), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_launch(p, &stream, 0), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_capture(NULL, &stream, 1), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_replay(NULL, NULL), HEXC_E_INVALID);
	ck_assert_int_eq(hexc_plan_update(NULL), HEXC_E_INVALID);
}

/* A plan of nothing is one. */
TEST(empty)
{
	hexc_plan_info info = HEXC_PLAN_INFO_INIT;
	hexc_plan *q;

	ck_assert_int_eq(hexc_plan_new(&q, NULL), HEXC_OK);
	ck_assert_int_eq(hexc_plan_solve(q), HEXC_OK);
	ck_assert_int_eq(hexc_plan_refit(q), HEXC_OK);
	ck_assert(hexc_plan_describe(q, &info));
	ck_assert(info.exact && info.bytes == 0 && info.nodes == 0);
	ck_assert_double_eq(info.makespan_us, 0);
	hexc_plan_free(q);
}

/* ---- on a device --------------------------------------------------------------------------------------- */

/* Two calls, of n[i] elements each, on one stream; n[0] is 0 when the graph is made. */
TEST(launches)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work w = HEXC_PLAN_WORK_INIT;
	hexc_module *m = lib_must(lib_add, NULL);
	hexc_gpu_module *gm;
	static const char zeros[4096];
	hexc_call *c[2];
	void *stream, *ptr;
	char why[400];

	ck_assert_msg(hexc_gpu_open(&o.gpu, HEXC_SIMULATOR(80), why, sizeof why) == HEXC_OK, "%s", why);
	ck_assert_int_eq(hexc_gpu_load(o.gpu, m, &gm), HEXC_OK);
	ck_assert_int_eq(hexc_gpu_alloc(o.gpu, 4096, &ptr), HEXC_OK);
	ck_assert_int_eq(hexc_gpu_write(o.gpu, ptr, zeros, sizeof zeros), HEXC_OK);
	ck_assert_int_eq(hexc_stream_new(&stream, o.gpu), HEXC_OK);
	hexc_plan_free(p);
	ck_assert_int_eq(hexc_plan_new(&p, &o), HEXC_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(hexc_call_new(&c[i], gm, 0), HEXC_OK);
		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(hexc_call_ptr(c[i], k, ptr, 4096), HEXC_OK);
		ck_assert_int_eq(hexc_call_int(c[i], 3, 1000 * i), HEXC_OK);
		w.call = c[i];
		w.us = 1;
		w.name = i ? "other" : "one";
		ck_assert_int_eq(hexc_plan_node(p, &w, &id), HEXC_OK);
	}
	FAILS(hexc_plan_launch(p, &stream, 1), HEXC_E_INVALID,
	      "it is not solved, or was changed since; call hexc_plan_solve");
	ck_assert_int_eq(hexc_plan_solve(p), HEXC_OK);
	ck_assert_msg(hexc_plan_capture(p, &stream, 1) == HEXC_OK, "%s", hexc_plan_why(p));
	ck_assert_int_eq(hexc_plan_replay(p, stream), HEXC_OK);
	ck_assert_int_eq(hexc_call_int(c[1], 3, -1), HEXC_OK);
	FAILS(hexc_plan_update(p), HEXC_E_ARGS,
	      "node 1 (other): add: the size N is -1; sizes must not be negative");
	FAILS(hexc_plan_launch(p, &stream, 1), HEXC_E_ARGS,
	      "node 1 (other): add: the size N is -1; sizes must not be negative");
	ck_assert_int_eq(hexc_call_int(c[1], 3, 1000), HEXC_OK);
	ck_assert_int_eq(hexc_call_int(c[0], 3, INT64_MAX), HEXC_OK);
	FAILS(hexc_plan_update(p), HEXC_E_ARGS,
	      "node 0 (one): add: its grid cannot be computed for these sizes");
	ck_assert_int_eq(hexc_call_int(c[0], 3, 0), HEXC_OK);
	ck_assert_int_eq(hexc_plan_update(p), HEXC_OK);
	ck_assert_int_eq(hexc_plan_replay(p, stream), HEXC_OK);
	hexc_plan_free(p);
	p = NULL;
	hexc_call_free(c[0]);
	hexc_call_free(c[1]);
	hexc_stream_free(o.gpu, stream);
	hexc_gpu_unload(gm);
	hexc_gpu_close(o.gpu);
	hexc_module_free(m);
}

/* Sanitizers have no simulator as a device; all but `launches` does without. */
TEST_PROGRAM(.start = op_start, .setup = setup, .teardown = teardown);

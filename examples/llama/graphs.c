/* graphs.c - runs a step of the decoder as a CUDA graph: a plan of one node, which issues all launches of the
 * step.
 *
 * The inputs that change per step (tokens, their positions and the pages of their sequences) are in lists on
 * the device, written before the launch. So the graph for n sequences serves all steps of n, until other
 * memory is needed. A step of n runs once before it is captured, as no memory can be allocated during
 * capture. */
#include "examples/llama/decoder.h"

int64_t
graphs_pages(const Decoder *d)
{
	return d->pages / d->opts->sequences;
}

void
graphs_drop(Decoder *d)
{
	for (int i = 0; i <= SEQUENCES; i++) {
		hexc_plan_free(d->step[i].plan);
		d->step[i].plan = NULL;
	}
}

/* The plan's node. */
static int
launch_step(void *user, void *stream)
{
	Step *s = user;
	Decoder *d = s->d;
	bool ok;

	d->stream = stream;
	ok = layers_run(d, s->n, 1, graphs_pages(d), s->n);
	d->stream = NULL;
	return ok ? HEXC_OK : HEXC_E_DEVICE;
}

static bool
capture(Decoder *d, Step *s)
{
	hexc_plan_opts o = HEXC_PLAN_OPTS_INIT;
	hexc_plan_work work = HEXC_PLAN_WORK_INIT;
	uint32_t node;

	if (!d->own_stream && hexc_stream_new(&d->own_stream, d->m.gpu))
		return decoder_fail(d, "stream", hexc_gpu_why(d->m.gpu));
	o.gpu = d->m.gpu;
	work.name = "step";
	work.launch = launch_step;
	work.user = s;
	if (hexc_plan_new(&s->plan, &o))
		return decoder_fail(d, "graph", "out of memory");
	if (hexc_plan_node(s->plan, &work, &node) || hexc_plan_solve(s->plan) ||
	    hexc_plan_capture(s->plan, &d->own_stream, 1))
		return *d->why ? false : decoder_fail(d, "graph", hexc_plan_why(s->plan));
	d->captured++;
	return true;
}

bool
graphs_step(Decoder *d, int64_t n)
{
	Step *s = &d->step[n];

	s->d = d;
	s->n = n;
	if (!s->ran) {
		s->ran = true;
		return layers_run(d, n, 1, graphs_pages(d), n);
	}
	if (!s->plan && !capture(d, s))
		return false;
	/* the stream does not wait for the copy of the lists, nor what reads the logits for the stream */
	if (hexc_gpu_wait(d->m.gpu))
		return decoder_fail(d, "step", hexc_gpu_why(d->m.gpu));
	if (hexc_plan_replay(s->plan, d->own_stream))
		return decoder_fail(d, "step", hexc_plan_why(s->plan));
	d->launched++;
	return !hexc_gpu_wait(d->m.gpu) || decoder_fail(d, "step", hexc_gpu_why(d->m.gpu));
}

void
decoder_graphs(const Decoder *d, int64_t *captured, int64_t *launched)
{
	*captured = d->captured;
	*launched = d->launched;
}

/* result.c - builds the result of a launch: its faults in order, its counts by line and class. */
#include <stdlib.h>
#include <string.h>
#include "lib/sim/launch/result.h"
#include "lib/sim/state/fault.h"

static int
by_place(const void *x, const void *y)
{
	const FaultRec *a = *(FaultRec *const *)x, *b = *(FaultRec *const *)y;

	if (a->lin != b->lin)
		return a->lin < b->lin ? -1 : 1;
	if (a->f.at.line != b->f.at.line)
		return a->f.at.line < b->f.at.line ? -1 : 1;
	if (a->f.kind != b->f.kind)
		return a->f.kind < b->f.kind ? -1 : 1;
	return a->f.other.line < b->f.other.line ? -1 : a->f.other.line > b->f.other.line;
}

int
collect_faults(Launch *l, sim_result *r)
{
	FaultRec **v, *f;
	u32 n = 0;

	r->recs = l->faults;
	r->hang = l->hang;
	if (!l->faults)
		return SIM_OK;
	v = malloc((l->nfault + l->nwarning) * sizeof *v);
	r->fault = malloc((l->nfault + l->nwarning) * sizeof *r->fault);
	if (!v || !r->fault) {
		free(v);
		return SIM_E_NOMEM;
	}
	for (f = l->faults; f; f = f->next)
		if (!is_after_stop(l, f->cluster))
			v[n++] = f;
	qsort(v, n, sizeof *v, by_place);
	for (u32 i = 0; i < n; i++) {
		r->fault[i] = v[i]->f;
		r->fault[i].text = v[i]->text;
	}
	r->nfault = n;
	free(v);
	return SIM_OK;
}

static void
add_counts(sim_counts *to, const sim_counts *n)
{
	to->threads += n->threads;
	to->warps += n->warps;
#define X(name, text) to->name += n->name;
	SIM_MEM_COUNTS(X)
#undef X
}

static void
mark_fn(const Fn *f, const sim_module *m, u8 *in)
{
	if (in[f->pc])
		return;
	memset(in + f->pc, 1, f->npc);
	for (u32 i = 0; i < f->ncallee; i++)
		mark_fn(f->callee[i], m, in);
	for (u32 i = 0; f->indirect && i < m->ptx.nfn; i++)
		if (m->ptx.fn[i]->taken && m->ptx.fn[i]->has_body)
			mark_fn(m->ptx.fn[i], m, in);
}

static int
by_line(const void *x, const void *y)
{
	const sim_line *a = x, *b = y;

	return a->line < b->line ? -1 : a->line > b->line;
}

int
collect_counts(Launch *l, sim_result *r, const Worker *k)
{
	const sim_module *m = l->m;
	u8 *in = calloc(1, m->ncode + 1u);

	r->line = calloc(m->ncode + 1u, sizeof *r->line);
	if (!in || !r->line) {
		free(in);
		return SIM_E_NOMEM;
	}
	mark_fn(l->f, m, in);
	for (u32 pc = 0; pc < m->ncode; pc++) {
		sim_line *o = &r->line[r->nline];
		const Ins *i = &m->code[pc];
		if (!in[pc])
			continue;
		for (u32 t = 0; t < l->nthread; t++) {
			const LineCounters *c = &k[t].n[pc];
			sim_counts n = { c->threads, c->warps, c->req, c->srd, c->swr, c->brd, c->bwr,
			        c->sreq,
				c->wave, c->wmin };
			add_counts(&o->n, &n);
		}
		add_counts(&r->st.all, &o->n);
		add_counts(&r->st.by_class[i->cls], &o->n);
		o->line = i->line;
		o->cls = (sim_class)i->cls;
		o->opcode = i->text;
		r->nline++;
	}
	qsort(r->line, r->nline, sizeof *r->line, by_line);
	for (u32 t = 0; t < l->nthread; t++) {
		r->st.mma += k[t].mma;
		r->st.mma_macs += k[t].mma_macs;
		r->st.barriers += k[t].barriers;
		r->st.blocks += k[t].blocks;
		r->st.block_sectors_read += k[t].bsect[0];
		r->st.block_sectors_written += k[t].bsect[1];
	}
	free(in);
	return SIM_OK;
}

void
sim_result_free(sim_result *r)
{
	FaultRec *f, *next;

	if (!r)
		return;
	for (f = r->recs; f; f = next) {
		next = f->next;
		free(f);
	}
	free(r->fault);
	free(r->hang);
	free(r->line);
	free(r->out);
	free(r);
}

const char *
sim_result_text(const sim_result *r)
{
	return r->text;
}

const char *
sim_result_hang(const sim_result *r)
{
	return r->hang ? r->hang : "";
}

int
sim_fault_at(const sim_result *r, size_t i, sim_fault *out)
{
	if (i >= r->nfault)
		return 0;
	*out = r->fault[i];
	return 1;
}

const sim_stats *
sim_stats_of(const sim_result *r)
{
	return &r->st;
}

const sim_l2 *
sim_l2_of(const sim_result *r)
{
	return r->has_l2 ? &r->l2 : NULL;
}

int
sim_line_at(const sim_result *r, size_t i, sim_line *out)
{
	if (i >= r->nline)
		return 0;
	*out = r->line[i];
	return 1;
}

static int
by_block(const void *x, const void *y)
{
	const Out *a = *(Out *const *)x, *b = *(Out *const *)y;

	return a->lin != b->lin ? a->lin < b->lin ? -1 : 1 : a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Concatenates all output in the order of the blocks; frees the parts. */
bool
collect_output(Launch *l, sim_result *r)
{
	Out **v, *next;
	u32 n = 0;

	for (Out *o = l->out; o; o = o->next)
		n++;
	v = malloc((n + 1u) * sizeof *v);
	r->out = malloc(l->nout + 1);
	n = 0;
	for (Out *o = l->out; o; o = next) {
		next = o->next;
		if (v && r->out && !is_after_stop(l, o->cluster)) {
			o->seq = n;
			v[n++] = o;
		} else {
			free(o);
		}
	}
	l->out = NULL;
	if (!v || !r->out) {
		free(v);
		return false;
	}
	qsort(v, n, sizeof *v, by_block);
	r->nout = 0;
	for (u32 i = 0; i < n; i++) {
		memcpy(r->out + r->nout, v[i]->text, v[i]->n);
		r->nout += v[i]->n;
		free(v[i]);
	}
	r->out[r->nout] = 0;
	free(v);
	return true;
}

const char *
sim_result_output(const sim_result *r, size_t *bytes)
{
	if (bytes)
		*bytes = r->nout;
	return r->out ? r->out : "";
}

/* resource_usage.c - adds up the SM resources that code uses, and converts them to cycles. */
#include "infer/core/resource_usage.h"
#include "infer/core/cost_constants.h"

const char *const res_unit[RES_UNITS] = {
#define X(name, words) words,
	RES_LIST(X)
#undef X
};

void
res_add(Res *r, const Res *x, double times)
{
	for (int i = 0; i < RES_UNITS; i++)
		r->unit[i] += x->unit[i] * times;
	r->latency += x->latency * times;
	if (x->wait > r->wait) /* loads are issued together */
		r->wait = x->wait;
	r->barrier = r->barrier || x->barrier;
}

double
res_busy(const Res *r)
{
	double most = 0, sum = 0;

	for (int i = 0; i < RES_UNITS; i++) {
		most = r->unit[i] > most ? r->unit[i] : most;
		sum += r->unit[i];
	}
	return most + IN_THE_WAY * sum;
}

double
res_busy_unit(const Res *r, int unit)
{
	double sum = 0;

	for (int i = 0; i < RES_UNITS; i++)
		sum += r->unit[i];
	return r->unit[unit] + IN_THE_WAY * sum;
}

double
res_cycles(const Res *r)
{
	return res_busy(r) + r->latency + r->wait;
}

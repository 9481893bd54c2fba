/* bind_sizes.c - infers run-time sizes from the shapes of the given tensors, which must agree. */
#include "hexc/cli/kernel_args.h"
#include <string.h>

/* The source of a size's value. */
typedef struct SizeSource {
	const Tensor *t; /* NULL: unknown so far; the size parameter itself: --arg */
	int dim;
} SizeSource;

static int
size_index(const Args *a, const char *name)
{
	for (int i = 0; i < a->n; i++)
		if (a->t[i].info.kind == HEXC_SIZE && strcmp(a->t[i].info.name, name) == 0)
			return i;
	return -1;
}

/* Returns the shape of the given value; NULL if it has none. */
static const int64_t *
given_shape(const Tensor *t, int *rank)
{
	if (t->info.kind == HEXC_POINTER && t->value.kind == V_FILE) {
		*rank = t->npy.rank;
		return t->npy.shape;
	}
	*rank = t->value.rank;
	return t->value.shaped ? t->value.shape : NULL;
}

/* May the last dimension of this file have several codes per byte? */
static bool
may_be_packed(const Tensor *t)
{
	return t->value.kind == V_FILE && !t->natural && t->type->bits < 8 && t->npy.kind == 'u';
}

static int
disagree(const Args *a, int size, const SizeSource *o, const Tensor *t, int dim, int64_t n)
{
	const char *name = a->t[size].info.name;
	long long known = (long long)a->arg[size].i, here = (long long)n;

	if (o->t == &a->t[size])
		return cli_error(EXIT_INPUT,
		                "%s is %lld by --arg, but %lld in %s (%s, dimension %d)", name,
		                 known, here, t->info.name, t->value.text, dim);
	return cli_error(EXIT_INPUT,
	                "%s is %lld in %s (%s, dimension %d), but %lld in %s (%s, dimension %d)",
	                 name, known, o->t->info.name, o->t->value.text, o->dim, here, t->info.name,
	                 t->value.text, dim);
}

/* Infers a size from dimension d of t. */
static int
learn(Args *a, SizeSource *from, const Tensor *t, int d, int64_t n)
{
	int s = size_index(a, t->info.dim[d]);

	if (s < 0)
		return 0; /* a number or a longer expression: compared later */
	if (!from[s].t) {
		from[s] = (SizeSource){ t, d };
		a->arg[s].i = n;
	} else if (a->arg[s].i != n) {
		return disagree(a, s, &from[s], t, d, n);
	}
	return 0;
}

static int
check_rank(const Tensor *t, int rank)
{
	if (rank == (int)t->info.rank)
		return 0;
	return cli_error(EXIT_INPUT, "%s (%s) has %d dimension%s; %s requires %u", t->info.name,
	                 t->value.text, rank, rank == 1 ? "" : "s", t->info.name, t->info.rank);
}

int
tensor_check_shape(Tensor *t)
{
	int rank, last = (int)t->info.rank - 1;
	const int64_t *given = given_shape(t, &rank);

	if (given && check_rank(t, rank))
		return EXIT_INPUT;
	for (int d = 0; given && d < rank; d++) {
		uint64_t packed = ((uint64_t)t->dim[d] * t->type->bits + 7) / 8;
		if (given[d] == t->dim[d])
			continue;
		if (d == last && may_be_packed(t) && (uint64_t)given[d] == packed) {
			t->packed = true;
			continue;
		}
		return cli_error(EXIT_INPUT,
		                "dimension %d of %s is %s = %lld, but %s has %lld there", d,
		                 t->info.name, t->info.dim[d], (long long)t->dim[d], t->value.text,
		                 (long long)given[d]);
	}
	return 0;
}

/* After all sizes are inferred: do the shapes match? */
static int
check_shape(Args *a, int i)
{
	Tensor *t = &a->t[i];

	if (hexc_tensor(a->m, a->kernel, (size_t)i, a->arg, t->dim, t->stride) != HEXC_OK)
		return cli_error(
			EXIT_INPUT,
			"%s has no shape for these sizes: overflow, division by 0 or a negative extent",
			t->info.name);
	return tensor_check_shape(t);
}

/* Two rounds: the last dimension of files that may be packed is used only if nothing else determines the
 * size. */
static int
learn_all(Args *a, SizeSource *from)
{
	int status = 0;

	for (int round = 0; round < 2 && !status; round++)
		for (int i = 0; i < a->n && !status; i++) {
			const Tensor *t = &a->t[i];
			int rank;
			const int64_t *given = given_shape(t, &rank);
			if (t->info.kind != HEXC_POINTER || !given)
				continue;
			status = check_rank(t, rank);
			for (int d = 0; d < rank && !status; d++) {
				bool unsure = may_be_packed(t) && d == rank - 1;
				int s = size_index(a, t->info.dim[d]);
				if (unsure == (round == 1) && !(unsure && s >= 0 && from[s].t))
					status = learn(a, from, t, d, given[d]);
			}
		}
	return status;
}

int
args_sizes(Args *a)
{
	SizeSource from[64];
	int status;

	if (a->n > (int)CLI_COUNT(from))
		return cli_error(EXIT_TROUBLE, "a kernel of more than %zu parameters", CLI_COUNT(from));
	memset(from, 0, sizeof from);
	for (int i = 0; i < a->n; i++)
		if (a->t[i].info.kind == HEXC_SIZE && a->t[i].value.kind == V_NUMBER)
			from[i] = (SizeSource){ &a->t[i], 0 };
	status = learn_all(a, from);
	for (int i = 0; i < a->n && !status; i++)
		if (a->t[i].info.kind == HEXC_SIZE && !from[i].t)
			status = cli_error(
				EXIT_USAGE,
				"size %s cannot be inferred from the arguments; add --arg %s=...",
				a->t[i].info.name, a->t[i].info.name);
	for (int i = 0; i < a->n && !status; i++)
		if (a->t[i].info.kind == HEXC_POINTER)
			status = check_shape(a, i);
	return status;
}

/* demo.c - compiles the examples, runs them on the bundled simulator and compares every element of every
 * result with a float64 reference written from the operator's formula. Prints one table row for each example
 * and arch; then what 4-bit weights cost in accuracy on a layer of a trained model.
 *
 *	demo ARCH...        run from the root of the tree, as `make demo` does
 *
 * Exit status 0: every row is correct. */
#include "examples/demo/demo.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole file, NUL-terminated; lines that are neither blank nor comment in *lines. */
static char *
read_source(const char *file, int *lines)
{
	FILE *f = fopen(file, "rb");
	char *text = need(1 << 20, 1), *p = text;

	if (!f) {
		free(text);
		return NULL;
	}
	text[fread(text, 1, (1 << 20) - 1, f)] = 0;
	fclose(f);
	for (*lines = 0; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		p += strspn(p, " \t");
		*lines += *p && *p != '\n' && strncmp(p, "//", 2);
	}
	return text;
}

/* How far 4-bit weights are from the layer they replace. */
static void
quantization(double kernel_err)
{
	Case c = { 0 };
	Tensor w = { "", F16, COLS * COLS, false, NULL, NULL, NULL, 0, 0 };
	double werr = 0, wsum = 0, yerr = 0, ysum = 0, ymax = 0, top = 0;
	double *deq;

	gemm_w4a16(&c);
	w.v = need(w.n, sizeof *w.v);
	w.mem = need(w.n, 2);
	read_npy("examples/data/minilm_query_w.npy", &w);
	deq = dequantized(&c.t[1], &c.t[2], &c.t[3]);
	for (size_t i = 0; i < w.n; i++) {
		werr += (deq[i] - w.v[i]) * (deq[i] - w.v[i]);
		wsum += w.v[i] * w.v[i];
	}
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < COLS; j++) {
			double y = 0, e;
			for (size_t l = 0; l < COLS; l++)
				y += c.t[0].v[i * COLS + l] * w.v[j * COLS + l];
			e = c.t[4].v[i * COLS + j] - y;
			yerr += e * e;
			ysum += y * y;
			ymax = fmax(ymax, fabs(e));
			top = fmax(top, fabs(c.t[4].v[i * COLS + j]));
		}
	}
	printf("\nReal weights: a 384x384 query projection of all-MiniLM-L6-v2 in 4 bits, groups of 128.\n"
	       "  kernel        max error %.2e against float64 on the dequantized weights; the largest\n"
	       "                output is %.1f, its rounding to f16 alone may cost %.2e\n",
	       kernel_err, top, half_ulp(top));
	printf("  quantization  against the original f16 weights: %.2f %% of the weights' rms, %.2f %% of\n"
	       "                the output's rms, largest difference of an output %.2f (rms %.2f)\n",
	       100 * sqrt(werr / wsum), 100 * sqrt(yerr / ysum), ymax, sqrt(ysum / (ROWS * COLS)));
	free(deq);
	free(w.v);
	free(w.mem);
	case_free(&c);
}

static int
formats_of_a_layer(const char *arch)
{
	int lines, bad;
	char *src = read_source("examples/gemm_schemes.hexc", &lines);

	if (!src) {
		printf("no examples/gemm_schemes.hexc\n");
		return 1;
	}
	bad = layer_in_formats(arch, src);
	free(src);
	return bad;
}

int
main(int argc, char **argv)
{
	double kernel_err = 0;
	int bad = 0;

	printf("%-15s %-7s %5s %10s %9s %8s %9s %-7s %s\n", "example", "arch", "lines", "compile ms",
	       "conflicts", "sectors", "max error", "verdict", "instructions");
	for (size_t e = 0; examples[e].name; e++) {
		char file[80], *src;
		int lines = 0;
		Case c = { 0 };
		snprintf(file, sizeof file, "examples/%s.hexc", examples[e].name);
		if (!(src = read_source(file, &lines))) {
			printf("%-15s no %s\n", examples[e].name, file);
			bad++;
			continue;
		}
		examples[e].make(&c);
		for (int a = 1; a < argc; a++) {
			Row row = { 0 };
			hexc_module *m = compile(argv[a], file, src, &row);
			row.right = m && simulate(m, &c, &row);
			bad += !row.right;
			printf("%-15s %-7s %5d %10.1f %9" PRIu64 " %+7.1f%% %9.2e %-7s %s\n",
			       examples[e].name, argv[a], lines, row.ms, row.conflicts, row.sectors,
			       row.err, row.right ? "right" : "WRONG", row.right ? row.inst : row.verdict);
			if (examples[e].make == gemm_w4a16)
				kernel_err = fmax(kernel_err, row.right ? row.err : INFINITY);
			fflush(stdout);
			hexc_module_free(m);
		}
		case_free(&c);
		free(src);
	}
	if (isfinite(kernel_err))
		quantization(kernel_err);
	if (argc > 1)
		bad += formats_of_a_layer(argv[1]);
	printf("\nlines: without blanks and comments.  compile: source to PTX in a running process.\n"
	       "sectors: global memory traffic over the least possible for the tiles.\n"
	       "error: largest absolute, against float64.  No GPU was used.\n");
	return bad != 0;
}

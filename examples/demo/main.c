/* main.c - compile the examples, run them on the bundled simulator and hold every element of every
 * result against a float64 reference written from the operator's formula.  One table row for each
 * example and arch; then what 4-bit weights cost in accuracy on a layer of a trained model.
 *
 *	demo ARCH...        run from the root of the tree, as `make demo` does
 *
 * Exit status 0: every row is right. */
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
quantization(void)
{
	Case c = { 0 };
	Tensor w = { "", F16, COLS * COLS, false, NULL, NULL, NULL, 0, 0 };
	double werr = 0, wsum = 0, yerr = 0, ysum = 0, ymax = 0, *deq;

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
		}
	}
	puts("\nReal weights: a 384x384 query projection of all-MiniLM-L6-v2 in 4 bits, groups of 128.\n"
	     "  kernel        max error of the gemm_w4a16 rows, against float64 on dequantized weights\n"
	     "  quantization  against the original f16 weights:");
	printf("                %.2f %% of the weights' rms, %.2f %% of the output's rms,\n"
	       "                largest difference of an output %.3g (outputs' rms %.3g)\n",
	       100 * sqrt(werr / wsum), 100 * sqrt(yerr / ysum), ymax,
	       sqrt(ysum / (ROWS * COLS)));
	free(deq);
	free(w.v);
	free(w.mem);
	case_free(&c);
}

int
main(int argc, char **argv)
{
	int bad = 0;

	printf("%-18s %-7s %5s %11s %9s %9s %10s  %s\n", "example", "arch", "lines", "compile ms",
	       "conflicts", "sectors", "max error", "verdict");
	for (size_t e = 0; examples[e].name; e++) {
		char file[80], *src;
		int lines = 0;
		Case c = { 0 };
		snprintf(file, sizeof file, "examples/%s.hexc", examples[e].name);
		if (!(src = read_source(file, &lines))) {
			printf("%-18s no %s\n", examples[e].name, file);
			bad++;
			continue;
		}
		examples[e].make(&c);
		for (int a = 1; a < argc; a++) {
			Row row = { 0 };
			hexc_module *m = compile(argv[a], file, src, &row);
			row.right = m && simulate(m, &c, &row);
			bad += !row.right;
			printf("%-18s %-7s %5d %11.1f %9" PRIu64 " %+8.1f%% %10.2e  %s\n",
			       examples[e].name, argv[a], lines, row.ms, row.conflicts, row.sectors,
			       row.err, row.right ? "right" : row.verdict);
			if (row.right)
				printf("%-18s   %s\n", "", row.inst);
			fflush(stdout);
			hexc_module_free(m);
		}
		case_free(&c);
		free(src);
	}
	quantization();
	printf("\nlines: without blanks and comments.  compile: source to PTX in a running process.\n"
	       "sectors: global memory traffic over the least possible for the tiles.\n"
	       "error: largest absolute, against float64.  No GPU was used.\n");
	return bad != 0;
}

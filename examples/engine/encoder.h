/* encoder.h - declarations shared by the files of the encoder. */
#ifndef HEXC_ENGINE_ENCODER_H
#define HEXC_ENGINE_ENCODER_H
#include "examples/engine/engine.h"

enum { LAYERS_MAX = 48, PER_LAYER = 8, NODES = 3 + PER_LAYER * LAYERS_MAX, ARGS = 8 };
enum { IDS = 1, PLACES, LENGTHS, FIRST }; /* buffers: what the host gives; then those of the plan */

/* An operator with its arguments: one node of the plan. */
typedef struct Node {
	hexc_family_call *call;
	uint32_t id, space; /* in the plan: the node, and its workspace */
	uint64_t bytes;     /* of that */
	struct {
		int param;
		uint32_t buffer;
	} arg[ARGS];
	int narg;
} Node;

/* Rows of a size: bytes of a token or of a sentence. */
typedef struct Buffer {
	uint32_t id;
	uint64_t row;
} Buffer;

struct Encoder {
	hexc_gpu *gpu;
	Vocab *vocab;
	Weights w;
	const EncoderOpts *opts;
	hexc_op *embed, *place, *norm, *attention;
	hexc_linear *linear[6 * LAYERS_MAX];
	int nlinear;
	Node node[NODES];
	int nnode;
	Buffer buffer[FIRST + 7 * LAYERS_MAX + 8];
	int nbuffer;
	uint32_t last; /* the buffer of the result */
	hexc_plan *plan;
	void *given[FIRST]; /* device memory of IDS, PLACES, LENGTHS */
	int64_t rows, length; /* that there is memory for; of the last run */
	void *memory;
	void *stream[16];
	hexc_plan_info info;
	char why[WHY];
};

/* e->why = WHAT: WHY, if it says nothing yet; false. */
bool encoder_fail(Encoder *e, const char *what, const char *why);

/* ---- layers.c */

/* Plan the operators, put all layers into e->plan and solve it.  False: e->why. */
bool encoder_layers(Encoder *e);
/* Argument `name` of a node, if it has such a size. */
void node_int(Node *n, const char *name, int64_t x);
#endif

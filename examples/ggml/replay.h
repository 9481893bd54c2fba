/* replay.h - graphs that come again are captured once as CUDA graphs, and replayed. */
#ifndef GGML_HEXC_REPLAY_H
#define GGML_HEXC_REPLAY_H
#include "examples/ggml/ggml_hexc.h"

/* Launches a graph: the same launches each time. Returns false with one sentence in why[0..n). */
typedef bool (*LaunchGraph)(void *user, struct ggml_cgraph *g, char *why, size_t n);

/* The graphs that a stream ran last. */
typedef struct Replays Replays;

typedef struct ReplayStats {
	int64_t captured, replayed;
} ReplayStats;

/* Runs g: by `launch` when it comes for the first time, as a CUDA graph from the second time on. Graphs are
 * the same if their nodes, with shapes, strides, parameters and addresses, are. `epoch` is a number that
 * changes when launches of equal graphs would differ. Where the driver cannot capture, `launch` always runs
 * g. */
bool replay(Replays *r, struct ggml_cgraph *g, uint64_t epoch, LaunchGraph launch, void *user, char *why,
            size_t n);
ReplayStats replay_stats(const Replays *r);
Replays *replays_new(Device *d, void *stream);
void replays_free(Replays *r); /* r may be NULL */
#endif

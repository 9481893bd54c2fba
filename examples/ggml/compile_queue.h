/* compile_queue.h - compiles hexc's operators on threads of the process, ahead of the graphs that need them.
 * An operator with its settings is compiled once for an arch, whatever the number of devices and streams. */
#ifndef GGML_HEXC_COMPILE_QUEUE_H
#define GGML_HEXC_COMPILE_QUEUE_H
#include "examples/ggml/work.h"
#include "lib/hexc_ops.h"

enum { LINES_MOST = 4096, KEY_MOST = TEXT_MOST + 2 * LINES_MOST };

/* An operator and its settings: arch, operator, the lines of its table, and names and values in turns, each
 * with its NUL. No lines: the whole table. */
typedef struct OperatorKey {
	uint32_t hash;
	size_t size;            /* bytes of text */
	char text[KEY_MOST];
} OperatorKey;

/* Since the process started. */
typedef struct CompileStats {
	int64_t operators;      /* compiled, or found in the cache */
	int64_t failed;         /* attempts */
	int64_t unforeseen;     /* operators that no graph asked for before it ran */
	int64_t by_graphs;      /* compiled by a thread that launches */
	int64_t waits;          /* how often such a thread waited for another one */
	double compile_s;       /* the sum over threads */
	double wait_s;          /* of threads that launch, compiling or waiting */
	uint64_t cached, compiled; /* kernels */
} CompileStats;

/* ---- operator_key.c: the lines for the launch's sizes, or the whole table. Returns false if there is no
 * place for it. */
bool operator_key(OperatorKey *k, const char *arch, const Launch *l, bool whole);
/* Launches of these sizes take the whole table from now on: no kernel of their lines does them. */
void operator_key_widen(const Launch *l);

/* ---- compile_queue.c */

/* The number of threads that compile, and that pack a weight: the processors, or GGML_HEXC_THREADS. */
int compile_threads(void);
/* Has an operator compiled behind those that were asked for before. Does nothing if there are no threads.
 * `foreseen`: the graph that needs it does not run yet. */
void compile_ahead(const OperatorKey *k, bool foreseen);
/* Returns an operator, which lives as long as the process: compiled now, if no thread has begun. Returns NULL
 * with the compiler's sentence in why[0..n); the next call then tries again. */
const hexc_op *compiled_operator(const OperatorKey *k, char *why, size_t n);
CompileStats compile_stats(void);
#endif

/* pack_layout.h - inside infer/: conversion between a pack and the layouts of its tiles. */
#ifndef HEXC_PACK_LAYOUT_H
#define HEXC_PACK_LAYOUT_H
#include "hexc/ir/pack.h"
#include "infer/core/search_state.h"

/* Numbers the registers of l such that those of a block are consecutive; at[]: the row and column dims.
 * Returns false if l does not distribute blocks over lanes in whole 16-byte accesses. */
bool pack_arrange(Layout *l, const int at[2], const Pack *p);
/* Sets the layout and streams of p to those that arranged layout l implies. */
void pack_read(Solve *s, Layout *l, const int at[2], Pack *p);
/* Computes the layout of the 32-bit words that hold elements of arranged layout l. */
bool pack_words_layout(Layout *out, Layout *l, const Pack *p);
/* Sets a default pack for unconstrained tiles: contiguous elements of a row in registers, then in lanes. */
bool pack_default(Solve *s, Pack *p);
/* Computes a tile's layout from its pack: the lanes of a block's streams, then blocks of a row to other
 * lanes, rows of blocks to the warps. */
bool pack_layout(Solve *s, const Type *t, const Pack *p, Layout *l);
#endif

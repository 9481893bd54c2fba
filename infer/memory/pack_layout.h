/* pack_layout.h - inside infer/: how a pack and the layouts of its tiles hang together. */
#ifndef HEXC_PACK_LAYOUT_H
#define HEXC_PACK_LAYOUT_H
#include "hexc/ir/pack.h"
#include "infer/core/search_state.h"

/* Number the registers of l so that those of a block follow one another; at[]: its dims of rows and columns.
 * False: its lanes do not share the blocks by whole accesses. */
bool pack_arrange(Layout *l, const int at[2], const Pack *p);
/* The place and the streams that an arranged layout asks for. */
void pack_read(Solve *s, Layout *l, const int at[2], Pack *p);
/* The layout of the words under elements that are laid out as l, arranged. */
bool pack_words_layout(Layout *out, Layout *l, const Pack *p);
/* Where nothing is asked: neighbours along a row in registers, then in lanes. */
bool pack_default(Solve *s, Pack *p);
/* A tile as its pack has it: a block to the lanes of its streams, blocks of a row to the other lanes, rows of
 * blocks to the warps. */
bool pack_layout(Solve *s, const Type *t, const Pack *p, Layout *l);
#endif

/* words.c - the vocabulary of a GGUF file: text to tokens, and back. */
#include "examples/llama/llama.h"
#include <stdlib.h>
struct Vocab { int n; };
Vocab *vocab_open(const char *path, char *why) { host_fail(why, path, "no"); return NULL; }
void vocab_close(Vocab *v) { free(v); }
int vocab_tokens(const Vocab *v, const char *text, int32_t *token, int room, char *why) { (void)v; (void)text; (void)token; (void)room; (void)why; return -1; }
int vocab_bytes(const Vocab *v, int32_t token, char *out, int room) { (void)v; (void)token; (void)out; (void)room; return 0; }

/* calls.h - calls of functions, and of the device's builtin functions. */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H
#include "lib/sim/state/execution.h"

/* printf.c */
/* Reads the string at a generic address, truncated to `cap`; returns false after a fault. */
bool print_string(Warp *w, const Ins *in, int lane, u64 addr, char *out, u32 cap);
/* vprintf: returns its result for the program. */
u64 print_format(Warp *w, const Ins *in, int lane, u64 format, u64 args);
/* call.c */
void saves_free(Warp *w);
u64 call_arg(const Warp *w, const CallInstr *c, u32 i, int lane);
void call_result(Warp *w, const CallInstr *c, int lane, u64 v);
/* builtin.c: device functions without a body: vprintf, __assertfail, malloc, free */
u8 builtin_find(const char *name);
bool builtin_ready(sim *s, const Fn *f);        /* its parameters are valid, its heap exists */
#endif

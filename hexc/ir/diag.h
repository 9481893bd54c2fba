/* diag.h - collects diagnostics as data; the caller renders them. */
#ifndef HEXC_DIAG_H
#define HEXC_DIAG_H
#include "taskmap/support/support.h"

/* A source location. line 0: none. */
typedef struct Src {
	uint32_t line, col; /* 1-based; col counts bytes */
	uint32_t len;       /* bytes underlined, >= 1 */
} Src;

/* Rows of warnings.def. */
typedef enum DiagWarning {
	DW_none,
#define WARNING(name, on, help) DW_##name,
#include "hexc/ir/warnings.def"
	DW_COUNT
} DiagWarning;
extern const char *const warning_name[DW_COUNT], *const warning_help[DW_COUNT];
extern const bool warning_on[DW_COUNT]; /* enabled by default */
DiagWarning warning_find(const char *name, size_t n); /* DW_none: no warning of that name */

enum { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR, DIAG_REMARK };

/* Kind of failure; decides the library's return code. */
typedef enum DiagClass { DC_SOURCE, DC_LAYOUT, DC_LIMIT, DC_ARCH, DC_INVALID, DC_INTERNAL } DiagClass;

typedef struct DiagMsg {
	int severity;
	DiagClass cls;
	DiagWarning warning; /* the warning, also if reported as an error (Diag.strict) */
	Src src;
	const char *text; /* one sentence, no newline: the fact and the fix */
} DiagMsg;

typedef struct Diag {
	Arena *arena;
	DiagMsg *msg;
	int n, cap;
	int nerror;
	int nwarning, nremark;
	unsigned wanted; /* bit w: warning w is enabled */
	unsigned remarked; /* bit w: warning w, if not enabled, is reported as a remark */
	bool strict;    /* warnings become errors at the end; they do not stop compilation before */
} Diag;

void diag_error(Diag *d, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_class_error(Diag *d, DiagClass cls, Src src, const char *fmt, ...) PRINTF_LIKE(4, 5);
bool diag_wants(const Diag *d, DiagWarning w); /* is it reported, at least as a remark? */
/* Returns false if the warning is disabled or was already reported; it then gets no notes. */
bool diag_warn(Diag *d, DiagWarning w, Src src, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Attaches to the preceding message. */
void diag_note(Diag *d, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
#endif

/* diag.h - diagnostics are data: collected here, rendered by whoever shows them. */
#ifndef HEXC_DIAG_H
#define HEXC_DIAG_H
#include "taskmap/support/support.h"

/* A place in the source.  line 0: nowhere. */
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
extern const bool warning_on[DW_COUNT]; /* without being asked for */
DiagWarning warning_find(const char *name, size_t n); /* DW_none: there is none of that name */

enum { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR, DIAG_REMARK };

/* What kind of failure an error is; decides the code the library returns. */
typedef enum DiagClass { DC_SOURCE, DC_LAYOUT, DC_LIMIT, DC_ARCH, DC_INVALID, DC_INTERNAL } DiagClass;

typedef struct DiagMsg {
	int severity;
	DiagClass cls;
	DiagWarning warning; /* what it warns of, as an error too (Diag.strict) */
	Src src;
	const char *text; /* one sentence, no newline: names the thing and the fix */
} DiagMsg;

typedef struct Diag {
	Arena *arena;
	DiagMsg *msg;
	int n, cap;
	int nerror;
	int nwarning, nremark;
	unsigned wanted; /* bit w: warning w is given */
	unsigned remarked; /* bit w: what is not wanted of warning w is given as a remark */
	bool strict;    /* warnings count as errors when all is done; they stop nothing before */
} Diag;

void diag_error(Diag *d, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
void diag_class_error(Diag *d, DiagClass cls, Src src, const char *fmt, ...) PRINTF_LIKE(4, 5);
bool diag_wants(const Diag *d, DiagWarning w); /* is it given, if only as a remark? */
/* False: it is turned off, or was said already; then it has no notes. */
bool diag_warn(Diag *d, DiagWarning w, Src src, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Belongs to the message before it. */
void diag_note(Diag *d, Src src, const char *fmt, ...) PRINTF_LIKE(3, 4);
#endif

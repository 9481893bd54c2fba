/* versions.h - ggml.h, and what its older versions lack. GGML_HEXC_NUMBER is the version that the backend is
 * built for: 2503 is 0.25.3. */
#ifndef GGML_HEXC_VERSIONS_H
#define GGML_HEXC_VERSIONS_H
#include <ggml.h>

/* The first version that is known to have them. No operation of an older one is of these kinds. */
#if GGML_HEXC_NUMBER < 2503
#define GGML_GLU_OP_SWIGLU_CLAMP ((enum ggml_glu_op)GGML_GLU_OP_COUNT)
#endif
#endif

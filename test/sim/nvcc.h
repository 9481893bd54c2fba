/* nvcc.h - whether nvcc is available (util_nvcc.c). */
#ifndef NVCC_H
#define NVCC_H
#include <stdbool.h>

bool nvcc_here(void); /* with the host's C++ compiler, without which it does nothing */
bool nvcc_knows(int sm);
#endif

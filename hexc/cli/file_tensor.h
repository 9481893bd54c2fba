/* file_tensor.h - declares tensors of safetensors and GGUF files in the form that kernels accept. */
#ifndef HEXC_FILE_TENSOR_H
#define HEXC_FILE_TENSOR_H
#include "hexc/cli/base/cli.h"
#include "lib/hexc_weights.h"

/* Unpacked: row-major, types of less than 8 bits as a bit stream. Lives as long as the Cli. */
typedef struct FileTensorData {
	const hexc_dtype *type;
	const char *what; /* "tensor F16", "code of Q4_K", ...: for messages */
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	unsigned char *data;
	uint64_t bytes;
} FileTensorData;

/* The names of a weight's planes by index, "code" first. */
extern const char *const held_planes[HEXC_NPLANE];
/* Removes :PLANE from the end of a name; returns its index, or -1 if there is none. */
int held_plane(char *name);

/* Does the name have an extension of safetensors or GGUF files? */
bool held_file(const char *path);
/* Splits FILE:NAME at its colon; returns false if it is only a file name. */
bool held_split(Cli *c, const char *text, const char **path, const char **name);
/* Opens a file of tensors. This and the following return 0, or a status with the reason printed. */
int held_open(Cli *c, const char *path, hexc_file **out);
/* Reads NAME of a file: a plain tensor, a tensor written by hexc pack, or a weight's codes; NAME:PLANE:
 * one of a weight's planes. */
int held_read(Cli *c, const char *path, const char *name, FileTensorData *out);
/* Reads a tensor written by hexc pack. */
int held_packed(Cli *c, const hexc_file *f, const char *name, FileTensorData *out);
/* Opens the command's only file, `what`, and calls `save` for each value of the option; *n: their number.
 * The caller closes *f, which may be NULL. */
int held_save(Cli *c, const char *what, CliOpt opt, int (*save)(Cli *c, const hexc_file *f, const char *spec),
              hexc_file **f, int *n);
/* Writes a .npy file with elements of `size` bytes. */
int held_write_npy(Cli *c, const char *path, char kind, int size, int rank, const int64_t *dim,
                   const void *data);
#endif

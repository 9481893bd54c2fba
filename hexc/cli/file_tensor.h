/* file_tensor.h - tensors that safetensors and GGUF files hold, as kernels take them. */
#ifndef HEXC_FILE_TENSOR_H
#define HEXC_FILE_TENSOR_H
#include "hexc/cli/base/cli.h"
#include "lib/hexc_weights.h"

/* In natural form: row-major, types of less than 8 bits a stream of bits.  Lives as long as the Cli. */
typedef struct FileTensorData {
	const hexc_dtype *type;
	const char *what; /* "tensor F16", "code of Q4_K", ...: for messages */
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	unsigned char *data;
	uint64_t bytes;
} FileTensorData;

/* The planes of a weight by their numbers, "code" first. */
extern const char *const held_planes[HEXC_NPLANE];
/* Takes :PLANE off the end of a name; its number, or -1 when none stands there. */
int held_plane(char *name);

/* Does the name end like those of safetensors and GGUF files? */
bool held_file(const char *path);
/* FILE:NAME at its colon; false: it is the name of a file alone. */
bool held_split(Cli *c, const char *text, const char **path, const char **name);
/* Open a file of tensors.  These return 0, or a status with the reason printed. */
int held_open(Cli *c, const char *path, hexc_file **out);
/* NAME of a file: a tensor of plain numbers, one that hexc pack wrote, or a weight's codes; NAME:PLANE: one
 * of a weight's planes. */
int held_read(Cli *c, const char *path, const char *name, FileTensorData *out);
/* One that hexc pack wrote. */
int held_packed(Cli *c, const hexc_file *f, const char *name, FileTensorData *out);
/* Open the command's one file, `what`, and call `save` for each value of the option; *n: how many there were.
 * *f, which may be NULL, is the caller's to close. */
int held_save(Cli *c, const char *what, CliOpt opt, int (*save)(Cli *c, const hexc_file *f, const char *spec),
              hexc_file **f, int *n);
/* A .npy file of elements of `size` bytes. */
int held_write_npy(Cli *c, const char *path, char kind, int size, int rank, const int64_t *dim,
                   const void *data);
#endif

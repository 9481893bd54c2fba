/* file.h - declares an open tensor file, and what its readers share. */
#ifndef HEXC_FILE_H
#define HEXC_FILE_H
#include "lib/hexc_weights.h"
#include "taskmap/support/support.h"

struct Json;

/* An element or block type of a container. */
typedef struct FileType {
	const char *name;    /* the container's name; NULL: it lacks the type */
	const char *dtype;   /* hexc's element type; NULL: none */
	int id;              /* GGUF's type number */
	int elements, bytes; /* per block along the last dim; for safetensors' sub-byte types, per group of
	                      * full bytes */
} FileType;

typedef struct FileTensor {
	const char *name, *type;
	const FileType *known; /* NULL: unknown type of the container */
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	uint64_t begin, bytes; /* byte range in the container's data */
} FileTensor;

typedef struct FileMeta {
	const char *key, *value;
} FileMeta;

/* A quantized weight in the file. */
typedef struct FileWeight {
	const char *name;
	const struct Format *format;
} FileWeight;

/* What compressed-tensors' quantization_config states of the weights of all its groups (file_compressed.c).
 * -1: nothing, or the groups differ. */
typedef struct Compressed {
	const char *by; /* the text that states it, for messages; NULL: nothing states it */
	int bits;
	int symmetric; /* 1: no zeros; 0: zeros */
	int ordered;   /* 1: by a g_idx; 0: in place */
} Compressed;

struct hexc_file {
	Arena arena;
	const char *kind;
	const unsigned char *data; /* the entire file */
	uint64_t bytes;
	bool mapped;
	int fd; /* of the mapped file */
	uint64_t start, room;      /* offset and length in bytes of the tensors' data */
	FileTensor *tensor;        /* in the file's order */
	FileTensor **by_name;
	size_t ntensor, tensor_cap;
	FileMeta *meta;
	size_t nmeta, meta_cap;
	FileWeight *weight;
	size_t nweight, weight_cap;
	const char *checkpoint; /* stated checkpoint_format, in lower case; NULL: not stated */
	const char *stated_by;  /* the text that states it, for messages */
	Compressed compressed;  /* what a configuration states of compressed-tensors */
	const char *blocks;     /* GGUF's general.quantization_version; NULL: not stated */
	uint32_t shard, shards; /* this is file `shard` of `shards` of a model, from 1; 0: not sharded */
	char *why;
	size_t nwhy;
};

/* Does the file still have all bytes that it had when it was opened? Accessing truncated bytes raises
 * SIGBUS. */
bool file_whole(const hexc_file *f);
/* Writes the sentence; returns false. */
bool file_error(hexc_file *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Returns at most 60 bytes from s for a message; '?' replaces what is no printable ASCII. */
const char *file_quote(hexc_file *f, const char *s, size_t n);
/* Writes the names of weights and tensors that are most like `name`, "a, b, c", to out[0..n), n > 0. */
void file_nearest(const hexc_file *f, const char *name, char *out, size_t n);
/* Computes the bytes of a tensor of this type and shape. Returns false, with the sentence written, if they
 * overflow or if its rows are not a multiple of the block. */
bool file_tensor_bytes(hexc_file *f, const FileTensor *t, uint64_t *out);
/* After all tensors are read: sorts them by name and rejects overlaps. `dense`: no byte may be unused. */
bool file_finish(hexc_file *f, bool dense);

/* The readers: fill f from f->data. Return false with the sentence written. */
bool safetensors_read(hexc_file *f);
bool gguf_read(hexc_file *f);
/* Reads what the metadata state about quantized weights (file_config.c). Returns false with a sentence if
 * they contradict each other. */
bool file_metadata(hexc_file *f);
/* Reads compressed-tensors' quantization_config `q`. Returns false with a sentence if hexc reads no such
 * weights. */
bool file_compressed(hexc_file *f, const struct Json *q, const char *by);
/* Is the file's stated checkpoint_format known? Returns false with a sentence. */
bool file_stated_known(const hexc_file *f, char *why, size_t n);
/* Is the file JSON, the index of a model of several files? If so, writes a sentence. */
bool file_index(hexc_file *f);
/* Sets shard and shards from a name such as model-00001-of-00002.safetensors. */
void file_shard_of_name(hexc_file *f, const char *path);
/* Writes ", and this is file 1 of 2 of the model: ..", or "". */
void file_tell_shard(const hexc_file *f, char *out, size_t n);
/* Detects the weights of a file that was read (weight_load.c). */
void file_weights(hexc_file *f);
/* The types of each container; the last entry has no elements. */
extern const FileType gguf_types[], safetensors_types[];
const FileType *file_type_named(const FileType *types, const char *name, size_t n); /* NULL: none */
/* Returns a type of a container by its name or, from a list NAME|NAME, the first of that dtype (NULL:
 * any); never NULL for the rows of formats.def. */
const FileType *file_type(const char *container, const char *names, const char *dtype);
/* Describes a GGUF block type that formats.def lacks; NULL: no description. */
const char *gguf_other(const char *type);
#endif

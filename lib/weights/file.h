/* file.h - an open file of tensors, and what its readers share. */
#ifndef HEXC_FILE_H
#define HEXC_FILE_H
#include "lib/hexc_weights.h"
#include "taskmap/support/support.h"

/* A type of elements or of blocks that a container knows. */
typedef struct FileType {
	const char *name;    /* as the container spells it; NULL: it lacks the type */
	const char *dtype;   /* ours; NULL: none */
	int id;              /* GGUF's number */
	int elements, bytes; /* of a block along the last dim; of safetensors' small types: of whole bytes */
} FileType;

typedef struct FileTensor {
	const char *name, *type;
	const FileType *known; /* NULL: the container's type is new to us */
	uint32_t rank;
	int64_t dim[HEXC_MAX_RANK];
	uint64_t begin, bytes; /* in the container's data */
} FileTensor;

typedef struct FileMeta {
	const char *key, *value;
} FileMeta;

/* A quantized weight that the file holds. */
typedef struct FileWeight {
	const char *name;
	const struct Format *format;
} FileWeight;

struct hexc_file {
	Arena arena;
	const char *kind;
	const unsigned char *data; /* the whole file */
	uint64_t bytes;
	bool mapped;
	int fd; /* of the mapped file */
	uint64_t start, room;      /* where the tensors' data begin in it, and how many bytes they have */
	FileTensor *tensor;        /* in the file's order */
	FileTensor **by_name;
	size_t ntensor, tensor_cap;
	FileMeta *meta;
	size_t nmeta, meta_cap;
	FileWeight *weight;
	size_t nweight, weight_cap;
	const char *checkpoint; /* stated checkpoint_format, in lower case; NULL: not stated */
	const char *stated_by;  /* the text that states it, for sentences */
	const char *blocks;     /* GGUF's general.quantization_version; NULL: not stated */
	uint32_t shard, shards; /* this is file `shard` of `shards` of a model, from 1 on; 0: of one file */
	char *why;
	size_t nwhy;
};

/* Has the file all the bytes that it had when it was opened?  To touch those that are gone ends the process
 * by SIGBUS. */
bool file_whole(const hexc_file *f);
/* Write the sentence; returns false. */
bool file_error(hexc_file *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Bytes from here on, at most 60, for a sentence: what is no printable ASCII becomes '?'. */
const char *file_quote(hexc_file *f, const char *s, size_t n);
/* The names of its weights and tensors that are most like `name`, "a, b, c", to out[0..n), n > 0. */
void file_nearest(const hexc_file *f, const char *name, char *out, size_t n);
/* Bytes of a tensor of this type and shape; false, with the sentence written, when they are too many or
 * when its rows are no whole blocks. */
bool file_tensor_bytes(hexc_file *f, const FileTensor *t, uint64_t *out);
/* Once all tensors are there: sort them by name, look at what overlaps.  `dense`: no byte may be left
 * over. */
bool file_finish(hexc_file *f, bool dense);

/* The readers: fill f from f->data, or write the sentence. */
bool safetensors_read(hexc_file *f);
bool gguf_read(hexc_file *f);
/* Take what the metadata say of quantized weights (file_config.c); false with a sentence if they contradict
 * each other. */
bool file_metadata(hexc_file *f);
/* Is the checkpoint_format that the file states one of those known?  False with a sentence. */
bool file_stated_known(const hexc_file *f, char *why, size_t n);
/* Is the file JSON, the index of a model of several files?  Then the sentence says so. */
bool file_index(hexc_file *f);
/* Sets shard and shards from a name such as model-00001-of-00002.safetensors. */
void file_shard_of_name(hexc_file *f, const char *path);
/* ", and this is file 1 of 2 of the model: ..", or "". */
void file_tell_shard(const hexc_file *f, char *out, size_t n);
/* Once it is read: what weights there are (weight_load.c). */
void file_weights(hexc_file *f);
/* The types of each container, up to one without elements. */
extern const FileType gguf_types[], safetensors_types[];
const FileType *file_type_named(const FileType *types, const char *name, size_t n); /* NULL: none */
/* A type of a container by its name or, of a list NAME|NAME, the first of that dtype (NULL: any); never
 * NULL for the rows of formats.def. */
const FileType *file_type(const char *container, const char *names, const char *dtype);
/* What blocks of GGUF are of which formats.def has none; NULL: nothing to say. */
const char *gguf_other(const char *type);
#endif

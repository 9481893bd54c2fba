/* file.c - maps tensor files, detects their container and looks up tensors. */
#include "lib/weights/file.h"
#include "lib/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool
file_error(hexc_file *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (f->nwhy)
		vsnprintf(f->why, f->nwhy, fmt, ap);
	va_end(ap);
	return false;
}

const char *
file_quote(hexc_file *f, const char *s, size_t n)
{
	size_t m = n > 60 ? 60 : n;
	char *p = arena_strndup(&f->arena, s, m);

	for (size_t i = 0; i < m; i++)
		if (p[i] < ' ' || p[i] > '~')
			p[i] = '?';
	return n > m ? arena_printf(&f->arena, "%s...", p) : p;
}

/* ---- what both containers must hold -------------------------------------------------------------- */

bool
file_tensor_bytes(hexc_file *f, const FileTensor *t, uint64_t *out)
{
	int64_t n = 1, last = t->rank ? t->dim[t->rank - 1] : 1;

	for (uint32_t i = 0; i + 1 < t->rank; i++)
		if (!mul64(n, t->dim[i], &n))
			return file_error(f, "tensor %s: its shape exceeds the address space",
			                  t->name);
	if (t->known->elements > 1 && strcmp(f->kind, "gguf") != 0) { /* packed across rows */
		if (!mul64(n, last, &last))
			return file_error(f, "tensor %s: its shape exceeds the address space",
			                  t->name);
		n = 1;
	}
	if (last % t->known->elements)
		return file_error(f, "tensor %s: %lld elements are not a multiple of %s blocks of %d; the "
		                     "writer must pad the rows",
		                  t->name, (long long)last, t->type,
		                  t->known->elements);
	if (!mul64(n, last / t->known->elements, &n) || !mul64(n, t->known->bytes, &n))
		return file_error(f, "tensor %s: its shape exceeds the address space",
		                  t->name);
	*out = (uint64_t)n;
	return true;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp((*(FileTensor *const *)a)->name, (*(FileTensor *const *)b)->name);
}

static int
by_place(const void *a, const void *b)
{
	const FileTensor *s = *(FileTensor *const *)a, *t = *(FileTensor *const *)b;

	if (s->begin != t->begin)
		return s->begin < t->begin ? -1 : 1;
	return (s->bytes > t->bytes) - (s->bytes < t->bytes);
}

bool
file_finish(hexc_file *f, bool dense)
{
	FileTensor **v = NEWN(&f->arena, FileTensor *, f->ntensor + 1);
	uint64_t end = 0;

	for (size_t i = 0; i < f->ntensor; i++)
		v[i] = &f->tensor[i];
	qsort(v, f->ntensor, sizeof *v, by_place);
	for (size_t i = 0; i < f->ntensor; i++) {
		const FileTensor *t = v[i];

		if (t->begin > f->room)
			return file_error(f,
			                  "tensor %s: its data start at byte %llu of %llu: the file is "
			                  "truncated or damaged; download or write it again",
			                  t->name, (unsigned long long)t->begin,
			                  (unsigned long long)f->room);
		if (t->bytes > f->room - t->begin)
			return file_error(
				f,
				"tensor %s: its data end at byte %llu of %llu: the file is truncated; "
				"download or write it again",
				t->name, (unsigned long long)(t->begin + t->bytes),
				(unsigned long long)f->room);
		if (t->begin < end && t->bytes)
			return file_error(
				f,
				"tensors %s and %s overlap at byte %llu of the data: the file is damaged; "
				"write it again",
				v[i - 1]->name, t->name, (unsigned long long)t->begin);
		if (dense && t->begin > end)
			return file_error(
				f,
				"bytes %llu to %llu of the data belong to no tensor: the file is damaged; "
				"write it again",
				(unsigned long long)end, (unsigned long long)t->begin);
		end = t->begin + t->bytes;
	}
	if (dense && end != f->room)
		return file_error(
			f,
			"the file has %llu bytes of data, but its tensors have %llu: it is truncated or "
			"damaged; download or write it again",
			(unsigned long long)f->room, (unsigned long long)end);
	qsort(v, f->ntensor, sizeof *v, by_name);
	f->by_name = v;
	for (size_t i = 1; i < f->ntensor; i++)
		if (strcmp(v[i - 1]->name, v[i]->name) == 0)
			return file_error(f, "two tensors are named %s: the file is damaged; write it again",
			                  v[i]->name);
	return true;
}

const FileType *
file_type_named(const FileType *types, const char *name, size_t n)
{
	for (; types->elements; types++)
		if (types->name && strlen(types->name) == n && strncmp(types->name, name, n) == 0)
			return types;
	return NULL;
}

const FileType *
file_type(const char *container, const char *names, const char *dtype)
{
	const FileType *types = strcmp(container, "gguf") == 0 ? gguf_types : safetensors_types;
	const FileType *first = NULL;

	for (size_t n; *names; names += n + (names[n] == '|')) {
		const FileType *t;

		n = strcspn(names, "|");
		t = file_type_named(types, names, n);
		if (t && dtype && t->dtype && strcmp(t->dtype, dtype) == 0)
			return t;
		first = first ? first : t;
	}
	return first;
}

/* ---- opening --------------------------------------------------------------------------------------- */

typedef struct Opening {
	hexc_file *f;
	bool ok;
} Opening;

static void
read_file(void *user)
{
	Opening *o = user;
	hexc_file *f = o->f;

	if (f->bytes >= 4 && memcmp(f->data, "GGUF", 4) == 0)
		o->ok = gguf_read(f);
	else if (f->bytes >= 9 && f->data[8] == '{')
		o->ok = safetensors_read(f);
	else if (file_index(f)) /* it wrote the sentence */
		o->ok = false;
	else
		o->ok = file_error(
			f,
			"neither a safetensors file (a length of 8 bytes and a {) nor a GGUF file (the "
			"letters GGUF)%s",
			f->bytes < 9 ? ": it is too short; download it again" : "");
	if (o->ok)
		file_weights(f);
}

/* Opens f; f->data and f->bytes are set. */
static int
start(hexc_file **out, hexc_file *f)
{
	Opening o = { f, false };
	Arena *arena = &f->arena;
	int code;

	arena_init(arena, NULL, NULL);
	code = arena_protect(&arena, 1, read_file, &o);
	if (code != HEXC_OK)
		file_error(f, "%s", hexc_strerror(code));
	else if (!o.ok)
		code = HEXC_E_FILE;
	f->why = NULL;
	f->nwhy = 0;
	if (code == HEXC_OK)
		*out = f;
	else
		hexc_file_close(f);
	return code;
}

/* Returns an empty file that writes messages to why[0..n); NULL if memory is short. */
static hexc_file *
file_new(char *why, size_t n)
{
	hexc_file *f = calloc(1, sizeof *f);

	if (n)
		why[0] = 0;
	if (f) {
		f->why = why;
		f->nwhy = n;
	}
	return f;
}

int
hexc_file_memory(hexc_file **out, const void *data, size_t bytes, char *why, size_t n)
{
	hexc_file *f;

	if (!out || (!data && bytes) || (!why && n))
		return HEXC_E_INVALID;
	*out = NULL;
	f = file_new(why, n);
	if (!f)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	f->data = data;
	f->bytes = bytes;
	return start(out, f);
}

/* Maps a regular file; returns false with errno set (0: not a regular file, or empty). Does not block on
 * pipes. */
static bool
map_file(const char *path, hexc_file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), saved;
	void *data = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	errno = 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= SIZE_MAX)
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		f->data = data;
		f->bytes = (uint64_t)st.st_size;
		f->mapped = true;
		f->fd = fd;
		return true;
	}
	saved = errno;
	close(fd);
	errno = saved;
	return false;
}

int
hexc_file_open(hexc_file **out, const char *path, char *why, size_t n)
{
	hexc_file *f;

	if (!out || !path || (!why && n))
		return HEXC_E_INVALID;
	*out = NULL;
	f = file_new(why, n);
	if (!f)
		return why_error(HEXC_E_NOMEM, why, n, "%s", hexc_strerror(HEXC_E_NOMEM));
	file_shard_of_name(f, path);
	if (!map_file(path, f)) {
		file_error(f, "%s", errno ? strerror(errno) : "it is empty, or not a regular file");
		free(f);
		return HEXC_E_FILE;
	}
	return start(out, f);
}

bool
file_whole(const hexc_file *f)
{
	struct stat st;

	return !f->mapped || (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size >= f->bytes);
}

void
hexc_file_close(hexc_file *f)
{
	if (!f)
		return;
	if (f->mapped) {
		munmap((void *)(uintptr_t)f->data, (size_t)f->bytes);
		close(f->fd);
	}
	arena_free(&f->arena);
	free(f);
}

/* ---- looking ----------------------------------------------------------------------------------------- */

const char *
hexc_file_kind(const hexc_file *f)
{
	return f ? f->kind : "";
}

static int
tell(const hexc_file *f, const FileTensor *t, hexc_file_tensor *out)
{
	hexc_file_tensor full = HEXC_FILE_TENSOR_INIT;

	full.name = t->name;
	full.type = t->type;
	full.dtype = t->known ? t->known->dtype : NULL;
	full.rank = t->rank;
	full.data = f->data + f->start + t->begin;
	full.bytes = t->bytes;
	memcpy(full.dim, t->dim, sizeof full.dim);
	return hand_out(out, out->size, &full, sizeof full);
}

int
hexc_file_tensor_at(const hexc_file *f, size_t i, hexc_file_tensor *out)
{
	return f && out && i < f->ntensor ? tell(f, &f->tensor[i], out) : 0;
}

int
hexc_file_find(const hexc_file *f, const char *name, hexc_file_tensor *out)
{
	size_t lo = 0, hi = f && name && out ? f->ntensor : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(name, f->by_name[mid]->name);

		if (c == 0)
			return tell(f, f->by_name[mid], out);
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

int
hexc_file_meta(const hexc_file *f, size_t i, const char **key, const char **value)
{
	if (!f || i >= f->nmeta)
		return 0;
	if (key)
		*key = f->meta[i].key;
	if (value)
		*value = f->meta[i].value;
	return 1;
}

#!/bin/sh
# A host thread that opened libhexc_sim and has no memory left still gets a result from its device. The simulator's
# per-thread data is static TLS, allocated at thread start; glibc aborts if it cannot allocate dynamic TLS.
[ -z "$SAN" ] || { echo "sanitizers have an allocator of their own"; exit 77; }
. test/script.sh
cat >"$dir/host.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static volatile int none; /* from now on there is no memory */
void *malloc(size_t n) { return none ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return none ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return none ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { return none ? NULL : __libc_memalign(a, n); }
void *memalign(size_t a, size_t n) { return none ? NULL : __libc_memalign(a, n); }

static void *(*sim_cuda)(const char *);

static void *
host(void *user)
{
	int (*current)(void **), *code = user;
	void *context = user, *found = sim_cuda("cuCtxGetCurrent");

	memcpy(&current, &found, sizeof current);
	none = 1;
	*code = current(&context) == 0 && !context ? 0 : 3;
	none = 0;
	return NULL;
}

int
main(int argc, char **argv)
{
	void *lib, *found;
	pthread_t before, later;
	int code[2] = { 9, 9 };

	lib = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	found = lib ? dlsym(lib, "sim_cuda") : NULL;
	if (!found)
		return puts(dlerror()), 2;
	memcpy(&sim_cuda, &found, sizeof sim_cuda);
	if (pthread_create(&later, NULL, host, &code[0]) || pthread_join(later, NULL))
		return 4;
	if (pthread_create(&before, NULL, host, &code[1]) || pthread_join(before, NULL))
		return 5;
	return code[0] | code[1];
}
END
"${CC:-cc}" -std=c11 -O1 "$dir/host.c" -ldl -pthread -o "$dir/host" || exit 1
"$dir/host" "$(cd "$B" && pwd)/libhexc_sim.so.0" >"$dir/said" 2>&1
got=$?
[ $got = 0 ] || fail "a thread without memory: status $got: $(cat "$dir/said")"
# The same holds for all thread-local data of the libraries that hosts open.
for lib in libhexc libhexc_rt libhexc_sim; do
	readelf -rW "$B/$lib.so.0" | grep -E 'R_[A-Z0-9_]*(DTPMOD|TLSDESC)' && fail "$lib has thread-local data that is allocated late"
done
exit $bad

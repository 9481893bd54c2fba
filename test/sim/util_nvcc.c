/* util_nvcc.c - runs nvcc on the CUDA C of a test, a few processes in parallel, and caches its output.
 *
 * PTX is cached in $B/nvcc under a hash of the compiler's version, the flags, the file and the headers beside
 * it. ptxas must accept it too: nvcc does not parse inline PTX.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test/sim/cuda/cuda.h"
#include "test/sim/nvcc.h"

static const char *
build_dir(void)
{
	const char *b = getenv("B");

	return b && *b ? b : "build";
}

/* What a command prints, at most `size - 1` bytes of it. */
static void
output_of(const char *cmd, char *out, size_t size)
{
	FILE *p = popen(cmd, "r");
	size_t n = p ? fread(out, 1, size - 1, p) : 0;

	out[n] = '\0';
	if (p)
		pclose(p);
}

bool
nvcc_here(void)
{
	return system("nvcc -x cu -E /dev/null >/dev/null 2>&1") == 0;
}

const char *
sm_name(int sm)
{
	return sm == 75 ? "sm_75" : sm == 80 ? "sm_80" : sm == 89 ? "sm_89" : "sm_90a";
}

bool
nvcc_knows(int sm)
{
	static char list[2000];         /* of one process, which asks one compiler */

	if (!*list)
		output_of("nvcc --list-gpu-code 2>/dev/null", list, sizeof list);
	return strstr(list, sm == 90 ? "sm_90" : sm_name(sm)) != NULL;
}

static uint64_t
hash(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

static uint64_t
hash_file(uint64_t h, const char *dir, const char *name)
{
	char path[800];
	char *text;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	text = read_text(path);
	h = hash(h, text ? text : "?");
	free(text);
	return h;
}

static uint64_t
source_hash(const char *dir, const char *file)
{
	char version[2000];
	struct dirent *e;
	uint64_t h, headers = 0;
	DIR *d = opendir(dir);

	output_of("nvcc --version", version, sizeof version);
	h = hash_file(hash(0xcbf29ce484222325u, version), dir, file);
	while (d && (e = readdir(d)) != NULL)   /* in any order */
		if (strstr(e->d_name, ".cuh"))
			headers += hash_file(hash(0, e->d_name), dir, e->d_name);
	if (d)
		closedir(d);
	return h ^ headers;
}

/* Child: compile one target to `path`, which appears complete or not at all. */
static int
compile_one(const char *dir, const char *file, const Variant *v, const char *path)
{
	char cmd[6000], tmp[700];
	int n = snprintf(tmp, sizeof tmp, "%s.%d.tmp", path, (int)getpid());

	if (n < 0 || n >= (int)sizeof tmp)
		return 1;
	snprintf(cmd, sizeof cmd,
	         "nvcc -std=c++17 -Wno-deprecated-gpu-targets -ptx -arch=%s %s -o %s %s/%s"
	         " && { ! command -v ptxas >/dev/null || ptxas -O0 -arch=%s %s -c -o /dev/null %s"
	         " 2>%s.log || { cat %s.log; false; }; }; rc=$?; rm -f %s.log; exit $rc",
	         sm_name(v->sm), v->flags, tmp, dir, file, sm_name(v->sm),
	         strstr(v->flags, "-G") ? "-g" : "", tmp, tmp, tmp, tmp);
	if (system(cmd) != 0 || rename(tmp, path) != 0) {
		unlink(tmp);
		return 1;
	}
	return 0;
}

bool
nvcc_compile(const char *file, const Variant *targets, unsigned n, char **text)
{
	char dir[500], path[40][600], key[300];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned running = 0;
	bool ok = n <= 40;
	uint64_t h;
	int status;
	char *slash;

	snprintf(dir, sizeof dir, "%s", __FILE__);
	slash = strrchr(dir, '/');
	snprintf(slash ? slash + 1 : dir, 20, "cuda");
	h = source_hash(dir, file);
	snprintf(path[0], sizeof path[0], "%s/nvcc", build_dir());
	mkdir(build_dir(), 0777);
	mkdir(path[0], 0777);
	for (unsigned i = 0; ok && i < n; i++) {
		snprintf(key, sizeof key, "%s %s", sm_name(targets[i].sm), targets[i].flags);
		snprintf(path[i], sizeof path[i], "%s/nvcc/%.40s-%s-%016llx.ptx", build_dir(), file,
		         sm_name(targets[i].sm), (unsigned long long)hash(h, key));
		if (access(path[i], R_OK) == 0)
			continue;
		if (running >= (unsigned)(cores > 0 ? cores : 1)) {
			ok &= wait(&status) > 0 && status == 0;
			running--;
		}
		if (fork() == 0)
			_exit(compile_one(dir, file, &targets[i], path[i]));
		running++;
	}
	for (; running; running--)
		ok &= wait(&status) > 0 && status == 0;
	for (unsigned i = 0; ok && i < n; i++)
		ok &= (text[i] = read_text(path[i])) != NULL;
	return ok;
}

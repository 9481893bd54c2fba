# fake.sh - sourced: make_driver DIR [FLAGS] puts a libcuda.so.1 there whose GPU is the simulator (driver.c).
make_driver() {
	to=$1
	shift
	"${CC:-cc}" "$@" -shared -fPIC -O1 -I. -fvisibility=hidden test/gpu/driver.c "-Wl,--exclude-libs,ALL" "$B/libhexc.a" \
		-lm -pthread -o "$to/libcuda.so.1"
}

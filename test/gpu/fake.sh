# fake.sh - sourced: make_driver DIR [FLAGS] builds DIR/libcuda.so.1, a driver with the simulator as GPU (driver.c).
make_driver() {
	to=$1
	shift
	"${CC:-cc}" "$@" -shared -fPIC -O1 -I. -fvisibility=hidden test/gpu/driver.c "-Wl,--exclude-libs,ALL" "$B/libhexc.a" \
		-lm -pthread -o "$to/libcuda.so.1"
}

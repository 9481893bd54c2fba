#!/bin/sh
# The library has no mutable globals. There are two exceptions. ptxgen/ has the pthread_once flag for
# the process-wide registration of LLVM's targets. The simulated CUDA driver (lib/sim/cuda) has the
# driver's per-thread state.
[ -z "$SAN" ] || { echo "sanitizers add globals of their own"; exit 77; }
lib=${B:-build}/libhexc.a
[ -f "$lib" ] || { echo "no $lib"; exit 1; }
objdump -t "$lib" | awk '
/file format/ { object = $1; sub(/:$/, "", object) }
NF > 3 && $(NF - 2) ~ /^(\.data|\.bss|\.tdata|\.tbss|\.data\.rel|\.data\.rel\.local|\*COM\*)/ && $(NF - 2) !~ /^\.data\.rel\.ro/ && $(NF - 1) !~ /^0+$/ {
	if ($NF ~ /^[a-z_]*once(\.[0-9]+)?$/ && object ~ /llvm/) next
	if ($NF == "contexts" && $(NF - 2) == ".tbss") next
	print object ": " $NF " in " $(NF - 2) " can be written"; bad = 1
}
END { exit bad }'

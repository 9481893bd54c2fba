#!/bin/sh
# No mutable globals in the library.  Two exceptions: LLVM's targets are registered once in a process, and the flag of
# that pthread_once lives in ptxgen/; and what the CUDA driver keeps for each thread, the simulated one (lib/sim/cuda) does.
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

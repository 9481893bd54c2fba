#!/bin/sh
# hexc_pack and hexc_unpack of 8192 x 8192 weights beside memcpy of as many bytes: within 4 times, one thread each.
# The machine may have other things to do: the best of some tries counts.
[ -z "$SAN" ] || { echo "sanitizers are not about speed"; exit 77; }
for _ in 1 2 3 4 5 6; do
	CPU=1 "${B:-build}/test/weights/test_pack" speed && exit 0
done
exit 1

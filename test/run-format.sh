#!/bin/sh
# All C files are formatted as by scripts/fmt. Versions of clang-format differ in details; version 14, of Debian 12,
# is the reference. A file that only another version would change passes.
major=$("${CLANG_FORMAT:-clang-format}" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
[ "$major" = 14 ] || { echo "scripts/fmt needs clang-format 14, here is ${major:-none}"; exit 77; }
exec scripts/fmt --check

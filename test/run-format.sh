#!/bin/sh
# All C files are formatted as scripts/fmt would do it.  Versions of clang-format disagree about corners: the one
# that counts is 14, of Debian 12; a file that only others would change is none of the author's business.
major=$("${CLANG_FORMAT:-clang-format}" --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
[ "$major" = 14 ] || { echo "scripts/fmt needs clang-format 14, here is ${major:-none}"; exit 77; }
exec scripts/fmt --check

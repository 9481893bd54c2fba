#!/bin/sh
# The text tests of this directory: what programs are lowered to, and the errors of wrong ones.
. test/script.sh
python3 test/text.py "$here/valid" "$here/errors" || fail 'text tests'
exit $bad

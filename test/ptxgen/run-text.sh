#!/bin/sh
# The text tests of this directory: PTX of IR with layouts by hand, and its results in the simulator.
. test/script.sh
python3 test/text.py "$here" || fail 'text tests'
exit $bad

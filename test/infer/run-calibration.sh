#!/bin/sh
# Compares the ranking of solutions by registers that hexc predicts from its PTX with the ranking by ptxas's
# registers (scripts/survey -r). Also checks that the solution chosen with ptxas does not spill if another of
# the first eight does not. The sample is a 17th of the programs of the examples and GPUs. Equal errors do not
# change a ranking, so the criterion is Spearman's coefficient: at least 0.9 over all of them. A single GPU
# has too few in this sample.
#
# REGISTERS=all: all examples, operators' entries, tests and GPUs, each GPU separately; half an hour.
set -u
. test/script.sh
command -v ptxas >/dev/null || { echo "no ptxas"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
unset PTXAS
if [ "${REGISTERS:-}" = all ]; then
	scripts/survey -r
	exit
fi
# The coefficient itself: an example of Wikipedia's article with value -29/165; ties; incomparable values.
python3 - <<'END' || fail "Spearman's coefficient"
import importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("survey", "scripts/survey")
survey = importlib.util.module_from_spec(importlib.util.spec_from_loader("survey", loader))
loader.exec_module(survey)
iq, tv = [106, 86, 100, 101, 99, 103, 97, 113, 112, 110], [7, 0, 27, 50, 28, 29, 20, 12, 6, 17]
assert abs(survey.spearman(list(zip(iq, tv))) + 29 / 165) < 1e-12
assert survey.spearman([(1, 10), (2, 20), (9, 21)]) == 1 and survey.spearman([(1, 3), (2, 2), (3, 1)]) == -1
# ranks 0.5 0.5 2 and 0 1 2: 1.5 / sqrt(1.5 * 2)
assert abs(survey.spearman([(5, 1), (5, 2), (6, 3)]) - 1.5 / 3 ** 0.5) < 1e-12
END
LEAST=0 scripts/survey -r -e 17 -j 2 examples/*.hexc >"$dir/log" || fail "taken, though it spills: $(grep taken "$dir/log")"
tail -n 12 "$dir/log"
rank=$(sed -n 's/^all: rank correlation \([0-9.-]*\) over the first solutions of \([0-9]*\) .*/\1 \2/p' "$dir/log")
python3 -c 'import sys; sys.exit(not (float(sys.argv[1]) >= 0.9 and int(sys.argv[2]) >= 12))' ${rank:-0 0} ||
	fail "rank correlation, kernels: $rank"
exit $bad

#!/bin/sh
# hexc ops lists the operators of lib/ops. For each it prints what the compiler reports about its kernels:
# arguments, constants and limits of the manifest, placeholders of the text, entries of the table.
. test/script.sh
sed -n 's,^//: op ,,p' lib/ops/*.hexc | LC_ALL=C sort >"$dir/want"
"$HEXC" ops | sed 's/^[a-z_0-9]* *//' | LC_ALL=C sort | diff "$dir/want" - || fail "hexc ops (>) lists other operators than lib/ops (<)"
"$HEXC" ops --json >"$dir/list.json" || fail "hexc ops --json"
for name in $("$HEXC" ops | cut -d ' ' -f 1); do
	"$HEXC" ops "$name" >"$dir/$name.txt" && "$HEXC" ops "$name" --json >"$dir/$name.json" || fail "hexc ops $name"
	"$HEXC" --emit-ptx "lib/ops/$name.hexc" --manifest "$dir/$name.m.json" -W no-unused -o /dev/null || fail "lib/ops/$name.hexc"
	for other in $(sed -n 's,^//: use ,,p' "lib/ops/$name.hexc"); do
		"$HEXC" --emit-ptx "lib/ops/$other.hexc" --manifest "$dir/$name.$other.m.json" -W no-unused -o /dev/null || fail "lib/ops/$other.hexc"
	done
done
python3 - "$dir" <<'END' || bad=1
import glob
import json
import os
import re
import sys

where = sys.argv[1]
listed = json.load(open(where + '/list.json'))
bad = 0


def compare(name, what, want, have):
    global bad
    if want != have:
        print('hexc ops %s: %s: missing %s, too many %s' % (name, what, sorted(want - have), sorted(have - want)))
        bad = 1


for op in listed:
    name = op['name']
    page = json.load(open('%s/%s.json' % (where, name)))
    printed = open('%s/%s.txt' % (where, name)).read()
    text = open('lib/ops/%s.hexc' % name).read()
    files = glob.glob('%s/%s.*m.json' % (where, name))
    kernels = {}
    for f in sorted(files, key=len, reverse=True):
        kernels.update({k['entry']: k for k in json.load(open(f))['kernels']})
    chains = []
    for line in re.findall(r'^//: take (.*?)(?: //- [\w|]+)?$', text, re.M) or ['']:
        stages = re.split(r'\bthen\b', re.sub(r'\b(with|when)\b.*', '', line))
        chains.append([(re.findall(r'(?<!\S)\w+(?!\S*=)', s) or [name])[0] for s in stages])
    arguments, constants, limits = set(), set(), set()
    for chain in chains:
        tensors = [{p['name']: p for p in kernels[k]['params'] if p['kind'] == 'pointer'} for k in chain]
        for i, k in enumerate(chain):
            for n, p in tensors[i].items():
                made = any(n in t and t[n]['written'] and not t[n]['read'] for t in tensors[:i])
                later = any(n in t and t[n]['read'] for t in tensors[i + 1:])
                if not (made and p['read']) and not (p['written'] and not p['read'] and later):
                    arguments.add(n)
            arguments |= {p['name'] for p in kernels[k]['params'] if p['kind'] == 'scalar'}
            constants |= set(kernels[k]['constants'])
    compare(name, 'arguments', arguments, {a['name'] for a in page['arguments'] if 'with' not in a})
    compare(name, 'constants and tunables', constants, {c['name'] for c in page['constants'] + page['tunables']})
    compare(name, 'holes', {w for x in re.findall(r'//\+ ([\w|]+)', text) for w in x.split('|')}, {h['name'] for h in page['holes']})
    compare(name, 'table', set(x.strip() for x in re.findall(r'^(?://\+ [\w|]+ )?//: take (.*?)(?: //- [\w|]+)?$', text, re.M)), set(page['kernels']))
    # The manifest folds constants and splits conditions: each size that it limits occurs in a condition.
    limited = {w for k in {k for c in chains for k in c} for x in kernels[k]['assume'] for w in re.findall(r'[A-Z]\w*', x)}
    compare(name, 'limited sizes', limited, limited & {w for x in page['limits'] for w in re.findall(r'\w+', x)})
    for a in page['arguments'] + page['constants'] + page['tunables'] + page['holes']:
        if not re.search(r'^  %s +\S' % re.escape(a['name']), printed, re.M):
            print('hexc ops %s: the text has no %s' % (name, a['name']))
            bad = 1
    for h in page['holes']:
        value = any('$' in p for p in re.findall(r'//\+ (?:\w+\|)*%s(?:\|\w+)* (.*)' % h['name'], text))
        if h['name'] != 'tensors' and (h['takes'] == 'an expression') != value:
            print('hexc ops %s: hole %s takes %s' % (name, h['name'], h['takes']))
            bad = 1
sys.exit(bad)
END
says 2 "unknown operator 'gem'" ops gem
says 2 "only one operator is allowed" ops gemm map
says 0 'usage: hexc run' help run
says 0 'usage: hexc --emit-ptx' help compile
says 0 'usage: hexc --emit-ptx' -h
says 0 'usage: hexc run' run -h
says 2 "no command 'rum', did you mean run" help rum
says 2 'help accepts one command; unexpected' help run sim
"$HEXC" compile examples/vector_add.hexc >"$dir/a.ptx" && "$HEXC" --emit-ptx examples/vector_add.hexc | cmp - "$dir/a.ptx" ||
	fail "hexc compile writes other PTX than --emit-ptx"
exit $bad

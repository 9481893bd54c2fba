#!/bin/sh
# Layouts that explain prints can be pinned. For every candidate of a GEMM, the layouts of its accumulator
# and shared tile are pinned in the program. The program then compiles to that candidate (same cycles, no
# more conversions), and runs.
set -u
. test/script.sh
command -v python3 >/dev/null || { echo "no python3 here to read JSON"; exit 77; }
python3 - "$HEXC" "$dir" <<'PY'
import json, os, re, subprocess, sys

hexc, tmp = sys.argv[1:]
ok, n = True, 0
source = open('examples/gemm_f16.hexc').read()

def explain(file, candidate):
    out = tmp + '/x.json'
    r = subprocess.run([hexc, 'explain', file, '--candidate', str(candidate), '--json', out],
                       capture_output=True, text=True, timeout=60)
    if r.returncode:
        return None, r.stderr
    return json.load(open(out))[0], ''

def conversions(k):
    return sum(o['op'] == 'convert' for o in k['ops'])

def tile(k, name, space):
    return next(t for t in k['tiles'] if t['name'] == name and t['space'] == space)

first, why = explain('examples/gemm_f16.hexc', 0)
for c in range(len(first['candidates'])):
    k, why = explain('examples/gemm_f16.hexc', c)
    acc, a = tile(k, 'acc', 'register'), tile(k, 'a', 'shared')
    one = re.sub(r'\((\d+),(.*)\):\((\d+),(.*)\)', r'(\2):(\4)', a['layout']) # without the stages
    text = re.sub(r'var acc: register f32\[BM, BN\]', lambda m: m.group(0) + ' layout "%s"' % acc['layout'], source)
    text = re.sub(r'let a: shared =', 'let a: shared f16[BM, BK] layout "%s" =' % one, text)
    file = tmp + '/pinned.hexc'
    open(file, 'w').write(text)
    p, why = explain(file, 0)
    if not p:
        ok = False
        print('candidate', c, why)
        continue
    mine = k['candidates'][c]
    if not any(abs(x['cycles'] - mine['cycles']) <= 0.01 * mine['cycles'] for x in p['candidates']) and \
       'via' not in mine['text']:
        ok = False
        print('candidate', c, mine, 'is none of', p['candidates'])
    if conversions(p) > conversions(k) or not tile(p, 'acc', 'register')['pinned']:
        ok = False
        print('candidate', c, 'has', conversions(p), 'conversions once pinned, not', conversions(k))
    r = subprocess.run([hexc, 'run', file, '--exec=' + os.environ.get('EXEC', 'sim'), '--check', '--prove', '--arg', 'A=random(1)[140,72]',
                        '--arg', 'B=random(2)[136,72]'], capture_output=True, text=True, timeout=60)
    if r.returncode:
        ok = False
        print('candidate', c, r.stderr)
    n += 1
print(n, 'candidates')
sys.exit(not (ok and n > 2))
PY

#!/bin/sh
# hexc explain as JSON and as pictures, of every example: JSON and SVG that a parser takes, the same bytes twice,
# no scripts, no file too large to look at; and what they say is held against what is known otherwise: fragments
# of the PTX ISA, conflicts that the simulator counts.
set -u
HEXC=${HEXC:-${B:-build}/hexc}
command -v python3 >/dev/null || { echo "no python3 here to parse JSON and XML"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
bad=0

fail() {
	echo "$*"
	bad=1
}

n=0
for f in examples/*.hexc; do
	name=$(basename "$f" .hexc)
	arch=sm_80
	grep -q 'e4m3' "$f" && arch=sm_89
	for i in 1 2; do
		timeout 60 "$HEXC" explain "$f" --arch "$arch" --svg "$tmp/$name.$i" --json "$tmp/$name.$i.json" \
			>"$tmp/out" 2>&1 || fail "$f: $(head -3 "$tmp/out")"
	done
	cmp -s "$tmp/$name.1.json" "$tmp/$name.2.json" || fail "$f: JSON differs from run to run"
	diff -r "$tmp/$name.1" "$tmp/$name.2" >/dev/null || fail "$f: pictures differ from run to run"
	n=$((n + 1))
done
"$HEXC" run examples/gemm_f16.hexc --exec=sim --arg 'A=random(1)[128,64]' --arg 'B=random(2)[128,64]' \
	--stats "$tmp/stats.json" >"$tmp/out" 2>&1 || fail "gemm_f16: $(head -3 "$tmp/out")"

python3 - "$tmp" <<'PY' || bad=1
import glob, json, os, re, sys
import xml.etree.ElementTree as xml

tmp = sys.argv[1]
ok = True
svg = '{http://www.w3.org/2000/svg}'

def fail(*what):
    global ok
    ok = False
    print(*what)

tiles = ops = 0
for path in sorted(glob.glob(tmp + '/*.1.json')):
    for k in json.load(open(path)):
        known = set()
        for field in ('entry', 'candidate', 'arch', 'warps', 'cycles', 'steps', 'shared_bytes', 'tiles', 'ops',
                      'candidates', 'text'):
            if field not in k:
                fail(path, 'lacks', field)
        for t in k['tiles']:
            tiles += 1
            known.add(t['id'])
            elements = 1
            for e in t['shape']:
                elements *= e
            if not t['layout'] or t['space'] not in ('register', 'shared'):
                fail(path, t)
            if t['space'] == 'register' and t['registers'] * 32 * k['warps'] * 32 < elements * 1:
                fail(path, 'too few registers for', t['name'])
            if t['space'] == 'shared':
                if t['offset'] + t['bytes'] > k['shared_bytes']:
                    fail(path, t['name'], 'lies outside of the shared memory of the block')
                for a in t['accesses']:
                    if a['wavefronts'] < a['wavefronts_least'] or a['conflicts'] < 0:
                        fail(path, a)
        for o in k['ops']:
            ops += 1
            if o.get('op') in ('load', 'store', 'copy', 'dot', 'convert') and 'instruction' not in o and \
                    (o['results'] or o['op'] != 'load'): # a load of one element for all threads has none
                fail(path, 'no instruction for', o)
            for v in o['operands'] + o['results']:
                if isinstance(v, int) and v not in known:
                    fail(path, 'op', o['id'], 'names tile', v, 'which is not listed')
            if 'runner_up' in o and not 0 <= o['runner_up']['candidate'] < len(k['candidates']):
                fail(path, o)
        if len({t['name'] for t in k['tiles'] if 'demanded_by' in t}) == 0:
            fail(path, 'says of no tile who demanded it')

pictures = 0
for path in sorted(glob.glob(tmp + '/*.1/*.svg')):
    pictures += 1
    root = xml.parse(path).getroot()
    if root.tag != svg + 'svg' or root.find(svg + 'title') is None or root.find(svg + 'desc') is None:
        fail(path, 'has no title or description')
    if any(e.tag.endswith('script') for e in root.iter()) or os.path.getsize(path) > 300000:
        fail(path, 'has a script or is too large')
    width, height = int(root.get('width')), int(root.get('height'))
    for e in root.iter(svg + 'rect'):
        x, y = int(e.get('x', 0)), int(e.get('y', 0))
        if x + int(e.get('width')) > width or y + int(e.get('height')) > height:
            fail(path, 'draws beyond its edge')
            break

def cells(pattern):
    path = glob.glob(tmp + '/gemm_f16.1/' + pattern)[0]
    return [e.text for e in xml.parse(path).getroot().iter(svg + 'text') if e.get('class') == 'cell']

# PTX ISA, mma.m16n8k16: of C, row = lane / 4 (+ 8 for c2, c3), column = lane % 4 * 2 + (i & 1);
# of A, the same rows, columns of four registers: a4 .. a7 8 further right
def holder(c, row, col):
    at = 2 * (row * 32 + col)
    lane, reg = re.sub('.*L', '', c[at]), c[at + 1].strip('R')
    return int(lane), int(reg)

c = cells('*-c.svg')
for row in range(16):
    for col in range(8):
        want = (row % 8 * 4 + col // 2, row // 8 * 2 + col % 2)
        if holder(c, row, col) != want:
            fail('C', row, col, holder(c, row, col), want)
a = cells('*-a.svg')
for row in range(16):
    for col in range(16):
        want = (row % 8 * 4 + col % 8 // 2, row // 8 * 2 + col // 8 * 4 + col % 2)
        if holder(a, row, col) != want:
            fail('A', row, col, holder(a, row, col), want)

# the first banks of the swizzled tile of rows of 64 bytes: row 2 begins in the second 16 bytes
s = cells('*.shared-a-*.svg')
if s[0] != '0,0' or s[16] != '1,0' or s[32 + 4] != '2,0':
    fail('shared tile:', s[0], s[16], s[32 + 4])

k = json.load(open(tmp + '/gemm_f16.1.json'))[0]
told = sum(x['conflicts'] for t in k['tiles'] if t['space'] == 'shared' for x in t['accesses'])
counted = json.load(open(tmp + '/stats.json'))['bank_conflicts']
if told != 0 or counted != 0:
    fail('gemm_f16: conflicts explained', told, 'counted', counted)
print(tiles, 'tiles,', ops, 'ops,', pictures, 'pictures')
sys.exit(not ok)
PY
[ $n -ge 15 ] || fail "only $n examples"
exit $bad

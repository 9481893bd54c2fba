#!/bin/sh
# hexc explain as JSON and as pictures, for every example: parsers accept the JSON and SVG, the output is
# reproducible, without scripts, and no file is too large to view. Its contents are checked against other sources:
# fragments of the PTX ISA, conflicts that the simulator counts.
set -u
. test/script.sh
command -v python3 >/dev/null || { echo "no python3 here to parse JSON and XML"; exit 77; }

n=0
for f in examples/*.hexc; do
	name=$(basename "$f" .hexc)
	arch=sm_80
	grep -q 'e4m3' "$f" && arch=sm_89
	arch=$(only_arch "$f" | grep . || echo $arch)
	for i in 1 2; do
		timeout 60 "$HEXC" explain "$f" --arch "$arch" --svg "$dir/$name.$i" --json "$dir/$name.$i.json" \
			>"$dir/out" 2>&1 || fail "$f: $(head -3 "$dir/out")"
	done
	"$HEXC" explain "$f" --arch "$arch" --short >"$dir/$name.short" || fail "$f: --short"
	cmp -s "$dir/$name.1.json" "$dir/$name.2.json" || fail "$f: JSON differs from run to run"
	diff -r "$dir/$name.1" "$dir/$name.2" >/dev/null || fail "$f: pictures differ from run to run"
	n=$((n + 1))
done
for stages in 2 3 8; do
	sed 's/STAGES = 1..4/STAGES = 1..8/' examples/gemm_f16.hexc >"$dir/roles.hexc"
	"$HEXC" explain "$dir/roles.hexc" --arch sm_90a --schedule roles --cluster 1x1 -D STAGES=$stages --json "$dir/roles.$stages.json" >"$dir/out" 2>&1 ||
		fail "gemm_f16 with $stages stages: $(head -3 "$dir/out")"
done
"$HEXC" run examples/gemm_f16.hexc --exec=sim --arg 'A=random(1)[128,64]' --arg 'B=random(2)[128,64]' \
	--stats "$dir/stats.json" >"$dir/out" 2>&1 || fail "gemm_f16: $(head -3 "$dir/out")"

python3 - "$dir" <<'PY' || bad=1
import glob, html.parser, json, os, re, sys
import xml.etree.ElementTree as xml

tmp = sys.argv[1]
ok = True
svg = '{http://www.w3.org/2000/svg}'

def fail(*what):
    global ok
    ok = False
    print(*what)

def near(told, x): # printed without decimals
    return abs(float(told) - x) <= 0.51

# The drawn timeline of a block is possible: units do one thing at a time. A stage is filled, used, then refilled.
# Nothing is used before it was copied. An iteration takes at least the time of its busiest unit.
def timeline(path, k, words):
    t = k['timeline']
    rows = [l.split('|')[0].strip() for l in words if '|' in l]
    if rows != t['rows']:
        fail(path, 'timeline of', rows, 'and of', t['rows'])
    if 'turn' in t and not any('steady state: %.0f cycles/iteration' % t['turn'] in l and t['limit'] in l for l in words):
        fail(path, words[-1], t['turn'], t['limit'])
    units = list(k['total'])
    by = [[] for _ in t['rows']]
    for s in t['spans']:
        by[s['row']].append(s)
        if not 0 <= s['from'] < s['to'] <= t['cycles'] + 0.1 or s.get('turn', 0) < 0:
            fail(path, s)
    for row, spans in zip(t['rows'], by):
        spans.sort(key=lambda s: (s['from'], s['to']))
        if not spans:
            fail(path, 'nothing is in row', row)
        last = None
        for s in spans if row not in units or row == 'tensor cores' else []:
            if last and s['from'] < last['to'] - 0.15:
                fail(path, row, last, 'and', s)
            if s['kind'] == 'use' and (last is None or (last['kind'], last.get('turn')) not in
                                       (('way', s['turn']), ('there', s['turn']))):
                fail(path, row, s, 'is used, behind', last)
            last = s
    if 'turn' in t:
        busy = max(sum(s['to'] - s['from'] for s in spans if 'turn' in s) / (1 + max(s['turn'] for s in spans if 'turn' in s))
                   for row, spans in zip(t['rows'], by) if row in units and any('turn' in s for s in spans))
        if t['turn'] < 0.95 * busy:
            fail(path, 'a turn takes', t['turn'], 'a unit', busy)

# Every fact in the text is also a field.
def complete(path, k):
    head, *sections = re.split(r'\n\n(?=tiles|schedule|products|warps|places|sparse|scales|packs|instructions|loops|timeline|candidates)', k['text'])
    part = dict((s.split('\n', 1)[0].split(',')[0], s.split('\n', 1)[1].rstrip('\n')) for s in sections)
    m = re.match(r'kernel (\S+) on (\S+): (\d+) warps, (\d+) predicted cycles/block, (\d+) search steps', head)
    if (m[1], m[2], int(m[3]), int(m[5])) != (k['entry'], k['arch'], k['warps'], k['steps']) or \
            not near(m[4], k['cycles']):
        fail(path, 'says otherwise than its text', m[0])
    m = re.search(r'one resident block (\d+); occupancy (\d+) block.* (\d+) registers', head)
    if not near(m[1], k['alone']) or (int(m[2]), int(m[3])) != (k['blocks_together'], k['registers']):
        fail(path, 'says otherwise than its text', m[0])
    m = re.search(r'groups of (\d+) blocks along (.), all of (.) within', head)
    if k.get('order') != (m and {'group': int(m[1]), 'dims': ['xyz'.index(m[2]), 'xyz'.index(m[3])]}):
        fail(path, k.get('order'), head)
    for unit, clocks in re.findall(r'(?:^  |, )([a-z -]+) (\d+)', head.split('\n')[1]):
        if not near(clocks, k['total'][unit]):
            fail(path, unit, clocks, k['total'])
    # tiles: a type and a name, then its properties
    told = re.split(r'\n(?=  \S)', part['tiles'])
    if len(told) != len(k['tiles']):
        fail(path, len(told), 'tiles in words,', len(k['tiles']), 'in JSON')
    for words, t in zip(told, k['tiles']):
        lines = words.split('\n')
        if lines[0].strip().split('  ', 1)[1] != t['name'] or lines[1].strip() != t['layout'] or t['dtype'] not in lines[0]:
            fail(path, lines[:2], t)
        seen = set()
        for l in lines[2:]:
            if m := re.match(r' *required by (.+), line (\d+)', l):
                if (t['demanded_by']['op'], t['demanded_by']['line']) != (m[1], int(m[2])):
                    fail(path, l, t)
            elif m := re.match(r' *alternative (.*) \(candidate (\d+)', l):
                if (t['runner_up']['layout'], t['runner_up']['candidate']) != (m[1], int(m[2])):
                    fail(path, l, t)
            elif m := re.match(r' *line (\d+): (\S+) by (\S+), (\d+) elements? per access, (\d+) wavefronts \(minimum (\d+)\)', l):
                want = (int(m[1]), m[3], int(m[5]), int(m[6]))
                if want not in [(a['line'], a['instruction'], a['wavefronts'], a['wavefronts_least'])
                                for a in t['accesses']]:
                    fail(path, l, t)
            elif m := re.match(r' *swizzle: (\d+) address bits from bit (\d+), xored with those (\d+)', l):
                if t.get('swizzle') != [int(x) for x in m.groups()]:
                    fail(path, l, t)
            elif not re.match(r' *(dim \d|replicated across)', l): # part of the layout
                fail(path, 'does not know', l)
    for l in [l for l in part.get('packs', '').split('\n') if l.startswith('  ') and l[2] != ' ']:
        if l.split(None, 1) not in [[p['name'], p['pack']] for p in k['packs']]:
            fail(path, l)
    for l, p in zip(part.get('places', '').split('\n'), k['places']):
        m = re.match(r' *(\S+), line (\d+): (shared|register)s?(?:; alternative \S+ \(candidate (\d+))?', l)
        if (m[1], int(m[2]), m[3]) != (p['name'], p['line'], p['space']) or \
                (m[4] and int(m[4]) != p['runner_up']['candidate']):
            fail(path, l, p)
    if 'schedule' in part:
        m = re.match(r' *(\w+)(?:; alternative \w+ \(candidate (\d+).*|; no roles: (.*))$', part['schedule'])
        j = k['schedule']
        if (m[1], m[2] and int(m[2]), m[3]) != (j['taken'], j.get('runner_up', {}).get('candidate'), j.get('no_roles')):
            fail(path, part['schedule'], j)
    if 'warps' in part:
        m = re.match(r' *chosen (\d+); alternative \d+ \(candidate (\d+)', part['warps'])
        if (int(m[1]), int(m[2])) != (k['open_warps']['taken'], k['open_warps']['runner_up']['candidate']):
            fail(path, part['warps'])
    for word, field in (('schedule', 'schedule'), ('warps', 'open_warps'), ('sparse', 'sparse'), ('scales', 'scales')):
        if (word in part) != (field in k):
            fail(path, 'tells of', word, 'in words or JSON only')
    if 'sparse' in part:
        m = re.match(r' *zeros (\w+); alternative \w+ \(candidate (\d+)', part['sparse'])
        if (m[1], int(m[2])) != (k['sparse']['zeros'], k['sparse']['runner_up']['candidate']):
            fail(path, part['sparse'])
    if 'scales' in part:
        m = re.match(r' *applied (by products|before); alternative [^(]*\(candidate (\d+)', part['scales'])
        if (m[1], int(m[2])) != (k['scales']['applied'], k['scales']['runner_up']['candidate']):
            fail(path, part['scales'])
    if k['loops'] and part.get('loops', '').split('\n') != [
            '  line %d, %s%s' % (l['line'], 'fallback version, ' if 'other_sizes' in l else '', l['split']) for l in k['loops']]:
        fail(path, 'loops', part.get('loops'), k['loops'])
    if ('timeline' in part) != ('timeline' in k):
        fail(path, 'has a timeline in words or JSON only')
    if 'timeline' in k:
        timeline(path, k, part['timeline'].split('\n'))
    # instructions: op by op
    told = [l for l in part['instructions'].split('\n') if l.startswith('  line ')]
    source = open('examples/' + os.path.basename(path).replace('.1.json', '.hexc')).read()
    ops = iter([o for o in k['ops'] if 'instruction' in o or o['cycles'] >= 1])
    for l in told:
        words = l.split()
        o = next(ops, {})
        if (o.get('op'), o.get('line', 0)) != (words[2], int(words[1])):
            fail(path, l, 'is op', o)
            break
        fact = {}
        if 'instruction' in o:
            fact[o['instruction']] = True
        for field, form in (('elements_an_access', ', %d element%s per access'), ('elements_a_read', ', %d elements per read'),
                            ('box', ', boxes of %s'),
                            ('written_by', ', written by %s'), ('read_by', ', read by %s')):
            if field in o:
                x = o[field]
                fact[form % ((x, 's' if x > 1 else '') if form.count('%') > 1 else x)] = True
        if 'assume' in o:
            fact['; `assume %s` would %s it' % (o['assume'], 'remove' if o['op'] == 'mask' else 'widen')] = True
        if 'scratch' in o:
            x = o['scratch']
            fact[', %d bytes of scratch' % x['bytes']] = True
            if 'layout' in x:
                w = [x['writes'], x['reads']]
                fact[', through shared memory as %s: %d wavefronts (minimum %d)' % (
                    x['layout'], sum(a['wavefronts'] for a in w), sum(a['wavefronts_least'] for a in w))] = True
        if 'runner_up' in o:
            fact['; alternative %s (candidate %d' % (o['runner_up']['instruction'], o['runner_up']['candidate'])] = True
        for f in fact:
            if f not in l:
                fail(path, 'says', f, 'but in words', l)
        rest = re.sub(r', [\d]+ cycles|, [-+.\d]+ %\)', '', l) # and the text has nothing else but names
        for f in sorted(fact, key=len, reverse=True):
            rest = rest.replace(f, '', 1)
        name = re.sub(r'^  line \d+ +\w+ +|( in registers| \(converted layout\))*$', '', rest)
        if re.search(r'[,;]', rest) and name not in source:
            fail(path, 'lacks', rest, 'of', l)
        m = re.search(r', (\d+) cycles', l)
        if m and not near(m[1], o['cycles']):
            fail(path, l, o['cycles'])
    if any('instruction' in o for o in ops):
        fail(path, 'has instructions that its text lacks')
    if len(part['candidates'].split('\n')) != len(k['candidates']):
        fail(path, 'candidates', len(k['candidates']))

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
                    fail(path, t['name'], 'is outside of the shared memory of the block')
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
        complete(path, k)
        if len({t['name'] for t in k['tiles'] if 'demanded_by' in t}) == 0:
            fail(path, 'says of no tile who demanded it')

# The summary: every named tile, each once, and every loop that takes time; cycles add up.
for path in sorted(glob.glob(tmp + '/*.1.json')):
    lines = open(path.replace('.1.json', '.short')).read().splitlines()
    kernels = json.load(open(path))
    heads = [l for l in lines if l.startswith('kernel ')]
    if len(heads) != len(kernels) or not all(near(re.search(r'(\d+) cycles/block', h)[1], k['cycles'])
                                             for h, k in zip(heads, kernels)):
        fail(path, heads)
    once = [l for l in lines if re.match('  [^ ]', l)]
    if len(set(once)) != len(once) and len(kernels) == 1:
        fail(path, 'says something twice in short')
    for h, k in zip(heads, kernels):
        limit = re.search(r'limited by (.*) \((\d+)\); candidate', h)
        if not near(limit[2], max(k['total'].values())) or not near(limit[2], k['total'][limit[1]]):
            fail(path, h, k['total'])
        for t in k['tiles']:
            if re.fullmatch(r'[A-Za-z_]\w*', t['name']) and not any(
                    l.split()[:1] == [t['name']] and t['dtype'] in l for l in lines):
                fail(path, 'says nothing of', t['name'], 'in short')
    told = sum(int(m[1]) for l in lines if (m := re.search(r'(?:iterations?|line \d+|loops): (\d+) cycles', l)))
    parts = sum(int(m[1]) for l in lines if (m := re.match(r' {4,}(\d+) cycles  \d+ ', l)))
    once = sum(o.get('cycles', 0) for k in kernels for o in k['ops'] if o['op'] != 'for')
    if abs(told - once) > 0.5 * len(lines) + 2 or abs(parts - told) > 0.5 * len(lines) + 2:
        fail(path, 'short: the parts are', parts, 'the loops', told, 'all ops', once)

# The page of pictures: a parser accepts it, each picture exists, no scripts.
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.images, self.tags, self.text = [], set(), ''
    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == 'img':
            self.images.append(dict(attrs)['src'])
    def handle_data(self, data):
        self.text += data
for path in sorted(glob.glob(tmp + '/*.1/index.html')):
    page = Page()
    page.feed(open(path).read())
    there = sorted(os.path.basename(p) for p in glob.glob(os.path.dirname(path) + '/*.svg'))
    if sorted(page.images) != there or 'script' in page.tags or page.text.count('candidates, by predicted cycles') < 1:
        fail(path, len(page.images), 'of', len(there), 'pictures')

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

# PTX ISA, mma.m16n8k16: in C, row = lane / 4 (+ 8 for c2, c3), column = lane % 4 * 2 + (i & 1); in A, the same
# rows, four registers per column group; a4 .. a7 are 8 columns to the right
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

# The first banks of the swizzled tile of rows of 64 bytes: row 2 starts in the second 16 bytes.
s = cells('*.shared-a-*.svg')
if s[0] != '0,0' or s[16] != '1,0' or s[32 + 4] != '2,0':
    fail('shared tile:', s[0], s[16], s[32 + 4])

# Warp roles. With enough stages an iteration takes the time of its busiest unit, here loading both tiles. With two
# stages, each refilled when free, two iterations take one copy latency plus the use.
def roles(stages):
    with open(tmp + '/roles.%d.json' % stages) as f:
        return json.load(f)[0]
deep = roles(8)
rows = deep['timeline']['rows']
if not {'producer', 'consumers', 'tensor cores', 'a, b: 7'} <= set(rows):
    fail('gemm_f16 with 8 stages', rows)
bytes_clocks = sum(o['resources']['global memory'] for o in deep['ops'] if o.get('instruction') == 'tma_load')
if abs(deep['timeline']['turn'] / bytes_clocks - 1) > 0.03 or deep['timeline']['limit'] != 'global memory':
    fail('8 stages:', deep['timeline']['turn'], 'a turn, to bring tiles', bytes_clocks, deep['timeline']['limit'])
turns = [roles(s)['timeline']['turn'] for s in (2, 3, 8)]
if turns != sorted(turns, reverse=True) or turns[0] < 1.5 * turns[-1]:
    fail('turns of gemm_f16 with 2, 3, 8 stages:', turns)
two = roles(2)['timeline']
way = [s['to'] - s['from'] for s in two['spans'] if s['kind'] == 'way']
use = [s['to'] - s['from'] for s in two['spans'] if s['kind'] == 'use']
if abs(2 * two['turn'] / (way[4] + use[4]) - 1) > 0.06 or 'stages' not in two['limit']:
    fail('2 stages:', two['turn'], 'a turn, its copies', way[4], 'its products', use[4], two['limit'])
# In flight: an MMA starts when its tile has arrived, and ends before the stage is released.
used = sorted((s['turn'], s['from'], s['to']) for s in deep['timeline']['spans'] if s['kind'] == 'use')
done = sorted((s['turn'], s['from'], s['to']) for s in deep['timeline']['spans'] if rows[s['row']] == 'tensor cores')
for (turn, begin, free), (again, start, end) in zip(used, done):
    if turn != again or not begin <= start < end <= free + 0.1:
        fail('turn', turn, 'of 8 stages: in use', begin, free, 'multiplied', start, end)

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

#!/bin/sh
# hexc explain --html: one self-contained page. An HTML parser finds its parts, and in them the output of --json and
# the unchanged program. If a browser is available, its script draws without errors. The details of an element under
# the mouse match the PTX ISA, the layout's text and explain. CHROMIUM names a browser.
. test/script.sh
command -v python3 >/dev/null || { echo "no python3 here to parse HTML"; exit 77; }

page() { # NAME FILE ARGUMENTS...
	name=$1 file=$2
	shift 2
	"$HEXC" explain "$file" "$@" --html "$dir/$name.html" --json "$dir/$name.json" >"$dir/out" 2>&1 || fail "$name: $(head -3 "$dir/out")"
	cp "$file" "$dir/$name.hexc"
}
page mma examples/gemm_f16.hexc --arch sm_80
page wgmma examples/gemm_f16.hexc --arch sm_90a
page attention examples/attention.hexc --arch sm_90a
page rows examples/softmax.hexc
page many examples/gemm_schemes.hexc
page plain examples/vector_add.hexc
# A program that would close its element, and other text that is not HTML.
{
	echo '// </script><b onclick="x">&amp; <!-- <script> "quoted" \ ü'
	cat examples/vector_add.hexc
} >"$dir/evil-source.hexc"
page evil "$dir/evil-source.hexc"
"$HEXC" explain examples/vector_add.hexc --html - >"$dir/plain-again.html" 2>&1 || fail "--html -"
cmp -s "$dir/plain.html" "$dir/plain-again.html" || fail "--html - writes something else than a page alone"
"$HEXC" explain examples/vector_add.hexc --html "$dir/nosuch/x.html" >"$dir/out" 2>&1
[ $? = 4 ] || fail "--html into a folder that is not there: $(head -1 "$dir/out")"

python3 - "$dir" <<'PY' || bad=1
import glob, html.parser, json, os, sys

tmp, ok = sys.argv[1], True

def fail(*what):
    global ok
    ok = False
    print(*what)

class Page(html.parser.HTMLParser):
    void = {'meta', 'link', 'br', 'img'}
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.data, self.outside, self.scripts = [], set(), '', [], 0
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.void:
            self.open.append((tag, attrs.get('id')))
        if 'id' in attrs:
            if attrs['id'] in self.ids:
                fail('two elements are', attrs['id'])
            self.ids.add(attrs['id'])
        self.scripts += tag == 'script'
        self.outside += [attrs[a] for a in ('src', 'href', 'srcset', 'action') if a in attrs and attrs[a] != 'data:,']
        self.outside += [a for a in attrs if a.startswith('on')]
    def handle_endtag(self, tag):
        if not self.open or self.open.pop()[0] != tag:
            fail('</%s> ends nothing' % tag)
    def handle_data(self, text):
        if self.open and self.open[-1] == ('script', 'data'):
            self.data += text

for path in sorted(glob.glob(tmp + '/*.html')):
    name = os.path.basename(path)[:-5]
    if name == 'plain-again':
        continue
    with open(path, encoding='utf-8') as f:
        text = f.read()
    page = Page()
    page.feed(text)
    page.close()
    if page.open:
        fail(name, 'leaves open', page.open)
    if page.outside or 'http:' in text.replace('http://www.w3.org/2000/svg', '') or 'https:' in text or '@import' in text or 'url(' in text:
        fail(name, 'needs more than itself', page.outside)
    want = {'title', 'kernels', 'summary', 'source', 'lines', 'time', 'timeline', 'layouts', 'tiles', 'tile', 'others', 'choices',
            'candidates', 'words', 'text', 'tip', 'data'}
    if not want <= page.ids or page.scripts != 2:
        fail(name, 'lacks', want - page.ids, page.scripts, 'scripts')
    data = json.loads(page.data)
    with open(tmp + '/' + name + '.json', encoding='utf-8') as f:
        if data['kernels'] != json.load(f):
            fail(name, 'has other kernels than --json')
    with open(tmp + '/' + name + '.hexc', encoding='utf-8') as f:
        if data['source'] != f.read():
            fail(name, 'has another program')
sys.exit(not ok)
PY

browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[ $bad = 0 ] || exit 1
[ -n "$browser" ] || { echo "no browser here (CHROMIUM): the pages' scripts are not tried"; exit 77; }
# Collects what the page draws and shows as JSON in a separate element: POINTS is [[tile name,
# space, [row, column]], ...].
cat >"$dir/drive.js" <<'END'
window.said = { errors: [], points: [], kernels: [] };
window.onerror = (text, file, line) => { said.errors.push(text + ' in line ' + line); };
addEventListener('load', () => {
	const all = s => [...document.querySelectorAll(s)], mouse = (e, x, y) => e.dispatchEvent(new MouseEvent('mousemove', { clientX: x, clientY: y }));
	const kernels = all('#kernels button');
	for (const b of kernels.length ? kernels : [null]) {
		if (b)
			b.click();
		const rows = all('#lines .row'), spans = all('#timeline rect.span'), tip = document.getElementById('tip');
		const dear = rows.find(r => r.classList.contains('most'));
		if (dear)
			mouse(dear, 200, 200);
		said.kernels.push({ title: document.title, limit: document.getElementById('summary').dataset.limit,
			lines: rows.map(r => [r.lastChild.textContent, +r.dataset.cycles]), tip: dear ? tip.innerText : '',
			spans: spans.length, time: !document.getElementById('time').hidden, tiles: all('#tiles li').length,
			candidates: all('#candidates tr[data-index]').length, taken: all('#candidates tr.taken').map(r => +r.dataset.index) });
		for (const li of all('#tiles li')) { // every tile in every colour and view
			li.click();
			for (const button of all('#tile button'))
				button.click();
		}
	}
	for (const [name, space, view, cell] of POINTS) {
		const li = all('#tiles li').find(x => x.firstChild.textContent === name && x.innerText.includes(space));
		if (!li) {
			said.points.push(null);
			continue;
		}
		li.click();
		const box = document.getElementById('tile');
		if (view)
			all('#tile button')[1].click();
		const canvas = box.state.canvas, at = canvas.getBoundingClientRect(), m = box.state.middle(...cell);
		mouse(canvas, at.left + m[0], at.top + m[1]);
		said.points.push({ text: document.getElementById('facts').innerText, ...document.getElementById('facts').dataset });
	}
	const out = document.createElement('pre');
	out.id = 'said';
	out.textContent = JSON.stringify(said);
	document.body.append(out);
});
END
python3 - "$dir" "$browser" <<'PY' || bad=1
import html, json, re, subprocess, sys

tmp, browser = sys.argv[1:]
ok = True

def fail(*what):
    global ok
    ok = False
    print(*what)

def drive(name, points, *options):
    page = open(tmp + '/' + name + '.html', encoding='utf-8').read()
    script = open(tmp + '/drive.js').read().replace('POINTS', json.dumps(points))
    # before the page's own script, to catch its errors
    driven = page.replace('<script type="application/json"', '<script>' + script + '</script>\n<script type="application/json"', 1)
    with open(tmp + '/driven.html', 'w', encoding='utf-8') as f:
        f.write(driven)
    run = subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu', '--user-data-dir=' + tmp + '/profile', '--enable-logging=stderr',
                          '--v=0', '--window-size=1280,1600', *options, '--dump-dom', 'file://' + tmp + '/driven.html'],
                         capture_output=True, text=True, timeout=300)
    for line in run.stderr.splitlines():
        if 'CONSOLE' in line:
            fail(name, 'says on the console', line)
    m = re.search(r'<pre id="said">(.*?)</pre>', run.stdout, re.S)
    if not m:
        fail(name, 'is not drawn', run.stderr[-500:])
        sys.exit(1)
    said = json.loads(html.unescape(m[1]))
    if said['errors']:
        fail(name, said['errors'])
    kernels = json.load(open(tmp + '/' + name + '.json'))
    for k, s in zip(kernels, said['kernels']):
        judge(name, k, s)
    if len(kernels) != len(said['kernels']):
        fail(name, len(said['kernels']), 'kernels of', len(kernels))
    return kernels, said['points']

# Compares the drawing of a kernel with its JSON.
def judge(name, k, s):
    by = {}
    for o in k['ops']:
        if o['op'] != 'for' and 'line' in o:
            by[o['line']] = by.get(o['line'], 0) + o.get('cycles', 0) * o['runs']
    source = open(tmp + '/' + name + '.hexc', encoding='utf-8').read().rstrip('\n').split('\n')
    if [l[0] for l in s['lines']] != [l or ' ' for l in source]:
        fail(name, 'shows another program')
    for n, (_, cycles) in enumerate(s['lines'], 1):
        if abs(cycles - by.get(n, 0)) > 0.1:
            fail(name, 'line', n, 'costs', by.get(n, 0), 'and is shown with', cycles)
    if by and format(round(max(by.values())), ',') not in s['tip']:
        fail(name, 'the dearest line', max(by.values()), 'is told of as', s['tip'])
    if k['entry'] not in s['title'] or s['limit'] != max(k['total'], key=k['total'].get):
        fail(name, s['title'], s['limit'])
    if s['time'] != ('timeline' in k) or s['time'] and s['spans'] != len(k['timeline']['spans']):
        fail(name, 'time', s['time'], s['spans'])
    if s['candidates'] != len(k['candidates']) or s['taken'] != [k['candidate']]:
        fail(name, 'candidates', s['candidates'], s['taken'])
    if s['tiles'] != len({(t['name'], t['space'], t['dtype'], str(t['shape']), t['layout']) for t in k['tiles']}):
        fail(name, 'tiles', s['tiles'])

def tile(kernels, name, space):
    return next(t for t in kernels[0]['tiles'] if t['name'] == name and t['space'] == space)

# Accumulators: element 9 right, 5 down, and another instance. PTX ISA, mma.m16n8k16: row = lane / 4 (+ 8 for c2,
# c3), column = lane % 4 * 2 + (i & 1); explain gives the instance and the warp.
cells, pieces = [(0, 0), (5, 9), (11, 6), (7, 15), (15, 1)], [(0, 0), (2, 0), (5, 9), (7, 31), (100, 17)]
kernels, points = drive('mma', [['acc', 'register', 0, c] for c in cells] + [['a', 'shared', 0, c] for c in pieces] + [['a', 'shared', 1, (1, 4)]])
for (row, col), p in zip(cells, points):
    lane, i = row % 8 * 4 + col % 8 // 2, row % 16 // 8 * 2 + col % 2
    digit = re.match(r'\(\(8,2,4,2\),\(2,4,8,2\)\):\(\(4@lane,2@reg,32@reg,1@warp\),\(1@reg,1@lane,4@reg,2@warp\)\)', tile(kernels, 'acc', 'register')['layout'])
    if not digit:
        fail('gemm_f16 on sm_80 is laid out otherwise: this test counts on instances 4 registers apart')
    if (int(p['lane']), int(p['register']), int(p['thread'])) != (lane, i + col // 8 * 4, lane):
        fail('mma', row, col, p)

# Rows of 64 bytes of a swizzled tile: 16-byte chunk p of row r is at p ^ (r / 2 % 4); and 32 banks of 4 bytes.
a = tile(kernels, 'a', 'shared')
if a['swizzle'] != [2, 3, 3] or a['shape'][1:] != [128, 32]:
    fail('gemm_f16 on sm_80 is swizzled otherwise', a['layout'])
read = next(x for x in a['accesses'] if x['instruction'] == 'ldmatrix_x4')
for (row, col), p in zip(pieces, points[len(cells):]):
    address = a['offset'] + row * 64 + ((col // 8) ^ (row // 2 % 4)) * 16 + col % 8 * 2
    if (int(p['address']), int(p['bank'])) != (address, address // 4 % 32):
        fail('shared', row, col, p, address)
    # ldmatrix: 8 rows of 16 bytes are one wavefront; the first row of a matrix belongs to lane 0, 8, 16 or 24
    if 'of %d, warp' % read['wavefronts'] not in p['text'] or not 0 <= int(p['wavefront']) < read['wavefronts']:
        fail('shared', row, col, p['text'], read)
    m = re.search(r'read by ldmatrix_x4 of line 13: wavefront \d+ of \d+, warp \d+, lane (\d+)', p['text'])
    if not m or int(m[1]) % 8 != row % 8:
        fail('ldmatrix', row, col, p['text'])
# The memory view: the line of banks 128 bytes further, bank 4: row 2, whose first chunk is the second one.
p = points[-1]
if not p['text'].startswith('element [0, 2, 0]') or (p['bank'], int(p['address'])) != ('4', a['offset'] + 144):
    fail('memory', p)

# PTX ISA, wgmma m64nNk16: D's row = warp * 16 + lane / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + lane % 4 * 2 + i % 2
cells = [(0, 0), (5, 9), (11, 6), (63, 127), (40, 70)]
for (row, col), p in zip(cells, drive('wgmma', [['acc', 'register', 0, c] for c in cells], '--blink-settings=preferredColorScheme=0')[1]):
    want = (row // 16, row % 8 * 4 + col % 8 // 2, col // 8 * 4 + row % 16 // 8 * 2 + col % 2)
    if (int(p['warp']), int(p['lane']), int(p['register'])) != want:
        fail('wgmma', row, col, p, want)
for name in ('attention', 'rows', 'many', 'plain', 'evil'):
    drive(name, [])
sys.exit(not ok)
PY
exit $bad

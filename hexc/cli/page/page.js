// page.js - the page of `hexc explain --html`: draws what the data say.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const UNITS = ['tensor cores', 'load-store unit', 'global memory', 'arithmetic', 'special functions', 'issue'];
const BANKS = 32, LINE = 128, WARP = 32, LABELLED = 24;
const $ = id => document.getElementById(id);
let kernel;

// An element with attributes, text and children.
function make(tag, more = {}, ...inside) {
	const svg = ['svg', 'g', 'rect', 'text', 'path', 'title'].includes(tag);
	const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);

	for (const [k, v] of Object.entries(more))
		if (v !== undefined && v !== null)
			e.setAttribute(k, v);
	e.append(...inside);
	return e;
}
const number = x => Math.round(x).toLocaleString('en-US');
const percent = x => (x >= 0 ? '+' : '') + x.toFixed(1) + ' %';

// ---- what is told where one points -----------------------------------------------------------------------

function tip(event, ...inside) {
	const t = $('tip');

	t.replaceChildren(...inside);
	t.hidden = false;
	const w = t.offsetWidth, h = t.offsetHeight;
	t.style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - w - 8)) + 'px';
	t.style.top = (event.clientY + 18 + h > innerHeight ? Math.max(8, event.clientY - h - 12) : event.clientY + 18) + 'px';
}
function tips(e, what) {
	e.addEventListener('mousemove', event => tip(event, ...what()));
	e.addEventListener('mouseleave', () => { $('tip').hidden = true; });
}

// ---- layouts: text to functions, as taskmap/print_parse.c writes them ----------------------------------------------

// "((8,2),4)": nested arrays of texts.
function tuple(text) {
	let at = 0;

	function item() {
		if (text[at] !== '(') {
			const from = at;
			while (at < text.length && text[at] !== ',' && text[at] !== ')')
				at++;
			return text.slice(from, at);
		}
		const list = [];
		for (at++; text[at] !== ')';) {
			list.push(item());
			if (text[at] === ',')
				at++;
		}
		at++;
		return list;
	}
	return item();
}

// {dim: [[{extent, stride, axis}]], offset: {axis: n}, swizzle}; extents of a dim from the fastest.
function layout(text) {
	const [, bits, base, shift, rest] = /^(?:Sw<(\d+),(\d+),(-?\d+)> o )?(.*)$/.exec(text);
	const [shape, behind] = rest.split(':', 2).length === 2 ? [rest.slice(0, rest.indexOf(':')), rest.slice(rest.indexOf(':') + 1)] : [rest, ''];
	const tail = /^(.*?)((?:\+\[[^\]]*\])*)((?:[-+]\d+@\w+)*)$/.exec(behind);
	const extents = [tuple(shape)].flat(), strides = [tuple(tail[1])].flat();
	const dims = extents.map((e, d) => {
		const extent = [e].flat(Infinity), stride = [strides[d]].flat(Infinity);

		return extent.map((x, i) => ({ extent: +x, stride: parseInt(stride[i], 10), axis: stride[i].split('@')[1] || 'mem' }));
	});
	const offset = {};
	for (const m of tail[3].matchAll(/([-+]\d+)@(\w+)/g))
		offset[m[2]] = +m[1];
	const copies = [...tail[2].matchAll(/\[(\d+):(\d+)@(\w+)\]/g)].map(m => ({ extent: +m[1], stride: +m[2], axis: m[3] }));
	return { dims, offset, copies, swizzle: bits ? [+bits, +base, +shift] : null };
}

function swizzled([bits, base, shift], x) {
	const mask = (1 << bits) - 1;

	return shift >= 0 ? x ^ (x >> base + shift & mask) << base : x ^ (x >> base & mask) << base - shift;
}

// Where the element at these coordinates is: {lane, warp, reg} or {mem}.
function place(l, at) {
	const p = { mem: 0, lane: 0, warp: 0, reg: 0, ...l.offset };

	l.dims.forEach((digits, d) => {
		let c = at[d] || 0;
		for (const g of digits) {
			p[g.axis] += c % g.extent * g.stride;
			c = Math.floor(c / g.extent);
		}
	});
	if (l.swizzle)
		p.mem = swizzled(l.swizzle, p.mem);
	return p;
}

// The same for all that have a copy of the element.
function holders(l, p) {
	return l.copies.reduce((list, c) => list.flatMap(x => [...Array(c.extent).keys()].map(i => ({ ...x, [c.axis]: x[c.axis] + i * c.stride }))), [p]);
}

const elements = shape => shape.reduce((a, b) => a * b, 1);
function coordinates(shape, i) {
	const c = [];

	for (let d = shape.length - 1; d >= 0; d--) {
		c[d] = i % shape[d];
		i = Math.floor(i / shape[d]);
	}
	return c;
}
function number_of(shape, c) {
	return c.reduce((n, x, d) => n * shape[d] + x, 0);
}

// ---- wavefronts: which lanes of an access the banks serve together --------------------------------------------

// {at: element number -> {wave, of, access}, count} of one execution of an access, by all its warps; the
// count is compared with what explain says, and nothing is shown where it differs.
function wavefronts(tile, access) {
	const map = layout(access.mapping), where = layout(tile.layout), size = tile.bits / 8;
	const shape = access.as || access.dims.map(d => tile.shape[d]), n = elements(shape), at = new Map(), turn = new Map();
	const bytes = access.elements_an_access * size;
	if (access.as || bytes < 4)
		return null;
	const lanes_at_once = Math.min(Math.floor(LINE / bytes), access.lanes);
	for (let i = 0; i < n; i++) {
		const c = coordinates(shape, i), full = tile.shape.map(() => 0), p = place(map, c);
		access.dims.forEach((d, j) => { full[d] = c[j]; });
		if (p.reg % access.elements_an_access)
			continue;
		for (const h of access.writes ? [p] : holders(map, p)) {
			const key = [h.warp, h.reg / access.elements_an_access, Math.floor(h.lane / lanes_at_once)].join();
			if (!turn.has(key))
				turn.set(key, []);
			turn.get(key).push({ ...h, unit: Math.floor(place(where, full).mem * size / bytes) });
		}
	}
	const start = new Map();
	let count = 0;
	const keys = [...turn.keys()].map(k => k.split(',').map(Number)).sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
	for (const k of keys) {
		const banks = new Map(), of = LINE / bytes;
		let worst = 0;
		for (const x of turn.get(k.join())) {
			const seen = banks.get(x.unit % of) || [];
			if (!seen.includes(x.unit))
				seen.push(x.unit);
			banks.set(x.unit % of, seen);
			worst = Math.max(worst, seen.length);
			start.set([x.warp, x.lane, x.reg].join(), count + seen.indexOf(x.unit));
		}
		count += worst;
	}
	if (count !== access.wavefronts)
		return null;
	for (let i = 0; i < n; i++) {
		const c = coordinates(shape, i), full = tile.shape.map(() => 0), p = place(map, c);
		access.dims.forEach((d, j) => { full[d] = c[j]; });
		const first = p.reg - p.reg % access.elements_an_access;
		at.set(number_of(tile.shape, full), { wave: start.get([p.warp, p.lane, first].join()), ...p });
	}
	return { at, count };
}

// Each once, that loops and what is in front of them have alike.
function accesses(tile) {
	const key = a => [a.instruction, a.line, a.mapping, a.dims, a.wavefronts].join('|');

	return (tile.accesses || []).filter((a, i, all) => all.findIndex(b => key(b) === key(a)) === i);
}

// ---- what is known of an element --------------------------------------------------------------------------------

function facts(tile, at) {
	const known = tile.known = tile.known || new Map(), n = number_of(tile.shape, at);

	if (!known.has(n))
		known.set(n, find_facts(tile, at));
	return known.get(n);
}

function find_facts(tile, at) {
	const p = place(tile.map = tile.map || layout(tile.layout), at), f = { element: at };

	if (tile.space === 'register')
		return { ...f, warp: p.warp, lane: p.lane, thread: p.warp * WARP + p.lane, element_of_lane: p.reg,
			register: Math.floor(p.reg * tile.bits / 32), bit: p.reg * tile.bits % 32 };
	const bits = p.mem * tile.bits, address = (tile.offset || 0) + Math.floor(bits / 8);
	f.address = address;
	f.bank = Math.floor(address / 4) % BANKS;
	f.line = Math.floor(bits / 8 / LINE);
	f.waves = accesses(tile).map(a => {
		if (a.traced === undefined)
			a.traced = a.mapping ? wavefronts(tile, a) : null;
		const x = a.traced && a.traced.at.get(number_of(tile.shape, tile.shape.length > a.dims.length
			? at.map((c, d) => a.dims.includes(d) ? c : 0) : at));
		return x && { instruction: a.instruction, line: a.line, writes: a.writes, wavefront: x.wave, of: a.traced.count,
			warp: x.warp, lane: x.lane };
	}).filter(Boolean);
	return f;
}

function told(f) {
	const say = ['element [' + f.element.join(', ') + ']'];

	if (f.thread !== undefined) {
		say.push('thread ' + f.thread + ' (warp ' + f.warp + ', lane ' + f.lane + ')', 'register ' + f.register +
			(f.bit ? ', from bit ' + f.bit : '') + ' (its element ' + f.element_of_lane + ')');
	} else {
		say.push('address ' + f.address, 'bank ' + f.bank, 'line ' + f.line + ' of its 128 bytes');
		for (const w of f.waves)
			say.push((w.writes ? 'written' : 'read') + ' by ' + w.instruction + ' of line ' + w.line + ': wavefront ' + w.wavefront +
				' of ' + w.of + ', warp ' + w.warp + ', lane ' + w.lane);
	}
	return say;
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

const dark = () => matchMedia('(prefers-color-scheme: dark)').matches;
const hue = (i, n, step = 0) => 'hsl(' + Math.round(360 * (i % n) / n) + ' 62% ' + (dark() ? 24 + step * 7 : 84 - step * 7) + '%)';
const COLOURS = {
	lane: f => hue(Math.floor(f.lane / 4), 8, f.lane % 4),
	warp: f => hue(f.warp, 8, 1),
	register: f => hue(f.register, 16, 1),
	bank: f => hue(f.bank, BANKS, Math.floor(f.bank / 4) % 2 * 2),
	row: f => hue(f.element[f.element.length - 2] || 0, 8, 1),
	wavefront: f => f.waves.length ? hue(f.waves[f.waves.length - 1].wavefront, 8, f.waves[f.waves.length - 1].wavefront % 3) : 'transparent',
};
const LABELS = {
	lane: f => ['L' + f.lane, 'R' + f.register], warp: f => ['W' + f.warp, 'L' + f.lane], register: f => ['R' + f.register, 'L' + f.lane],
	bank: f => ['B' + f.bank, '+' + f.address], row: f => [f.element.slice(-2).join(',')],
	wavefront: f => f.waves.length ? ['w' + f.waves[f.waves.length - 1].wavefront, 'B' + f.bank] : [''],
};

// The cells of a view: element coordinates by row and column, or null.
function view(tile, by) {
	const shape = tile.shape, cols = shape[shape.length - 1], rows = shape.length > 1 ? shape[shape.length - 2] : 1;
	const front = shape.slice(0, -2).map((n, d) => Math.min(tile.front ? tile.front[d] : 0, n - 1));

	if (by !== 'memory')
		return { rows, cols, at: (r, c) => shape.length > 1 ? [...front, r, c] : [c], top: c => c, side: r => r };
	// lines of 32 banks: the first element of each 4 bytes, of this front
	const cell = new Map();
	let lines = 0;
	for (let i = 0; i < elements(shape); i++) {
		const c = coordinates(shape, i), p = place(tile.map = tile.map || layout(tile.layout), c), word = Math.floor(p.mem * tile.bits / 32);
		if (!front.every((x, d) => x === c[d]))
			continue;
		lines = Math.max(lines, Math.floor(word / BANKS) + 1);
		if (!cell.has(word) || cell.get(word).mem > p.mem)
			cell.set(word, { at: c, mem: p.mem });
	}
	const first = Math.floor(Math.min(...cell.keys()) / BANKS);
	return { rows: lines - first, cols: BANKS, at: (r, c) => (cell.get((r + first) * BANKS + c) || {}).at || null,
		top: c => 'bank ' + c, side: r => '+' + (r + first) * LINE };
}

function draw(tile, state) {
	const v = view(tile, state.view), canvas = state.canvas, g = canvas.getContext('2d');
	const room = $('tile').clientWidth - 76, w = Math.max(8, Math.min(44, Math.floor(room / v.cols))), h = w >= LABELLED ? 26 : Math.max(8, Math.min(22, w)), left = 52, top = 20;
	const scale = devicePixelRatio || 1;
	const css = getComputedStyle(document.documentElement);

	canvas.width = (left + v.cols * w + 2) * scale;
	canvas.height = (top + v.rows * h + 2) * scale;
	canvas.style.width = canvas.width / scale + 'px';
	canvas.style.height = canvas.height / scale + 'px';
	g.scale(scale, scale);
	g.font = (w < 34 ? 8 : 10) + 'px ui-monospace, Menlo, Consolas, monospace';
	g.textBaseline = 'middle';
	const every = Math.ceil(26 / w);
	for (let c = 0; c < v.cols; c += every) {
		g.fillStyle = css.getPropertyValue('--soft');
		g.textAlign = 'center';
		g.fillText(String(v.top(c)).replace('bank ', ''), left + c * w + w / 2, top - 8);
	}
	for (let r = 0; r < v.rows; r++) {
		if (r % Math.ceil(12 / h) === 0) {
			g.fillStyle = css.getPropertyValue('--soft');
			g.textAlign = 'right';
			g.fillText(v.side(r), left - 6, top + r * h + h / 2);
		}
		for (let c = 0; c < v.cols; c++) {
			const at = v.at(r, c);
			if (!at)
				continue;
			const f = facts(tile, at), x = left + c * w, y = top + r * h;
			g.fillStyle = COLOURS[state.colour](f);
			g.fillRect(x, y, w - 1, h - 1);
			if (state.like && state.like(f)) {
				g.strokeStyle = css.getPropertyValue('--mark');
				g.lineWidth = 1.5;
				g.strokeRect(x + 0.5, y + 0.5, w - 2, h - 2);
			}
			if (w < LABELLED)
				continue;
			g.fillStyle = css.getPropertyValue('--cell-ink');
			g.textAlign = 'center';
			const label = state.view === 'memory' ? [at.slice(-2).join(',')] : LABELS[state.colour](f);
			label.forEach((s, i) => g.fillText(s, x + w / 2, y + h * (i + 1) / (label.length + 1) + 1));
		}
	}
	state.cell = event => {
		const box = canvas.getBoundingClientRect(), c = Math.floor((event.clientX - box.left - left) / w), r = Math.floor((event.clientY - box.top - top) / h);

		return r >= 0 && c >= 0 && r < v.rows && c < v.cols ? v.at(r, c) : null;
	};
	state.middle = (r, c) => [left + c * w + w / 2, top + r * h + h / 2];
}

// Who else is shown with the element that is pointed at.
function like(f) {
	if (f.thread !== undefined)
		return x => x.thread === f.thread;
	const mine = f.waves[f.waves.length - 1];

	return mine ? x => x.waves.length && x.waves[x.waves.length - 1].wavefront === mine.wavefront : x => x.bank === f.bank;
}

function show_tile(tile) {
	const shared = tile.space === 'shared', box = $('tile'), say = make('div', { id: 'facts', 'aria-live': 'polite' }, 'Hover over an element.');
	const canvas = make('canvas', { tabindex: 0, role: 'img', 'aria-label': tile.name });
	const state = { canvas, view: 'tile', colour: shared ? 'bank' : 'lane', like: null };
	const choice = make('div', { class: 'bar' });
	const colours = shared ? ['bank', 'row', ...(tile.accesses || []).some(a => a.mapping) ? ['wavefront'] : []] : ['lane', 'warp', 'register'];

	function button(text, of, value) {
		const b = make('button', { type: 'button', 'aria-pressed': state[of] === value }, text);
		b.onclick = () => {
			state[of] = value;
			for (const x of choice.querySelectorAll('[data-of=' + of + ']'))
				x.setAttribute('aria-pressed', x === b);
			draw(tile, state);
		};
		b.dataset.of = of;
		choice.append(b);
	}
	if (shared) {
		button('as a tile', 'view', 'tile');
		button('as memory: lines of 32 banks', 'view', 'memory');
	}
	for (const c of colours)
		button('colour: ' + c, 'colour', c);
	tile.shape.slice(0, -2).forEach((n, d) => {
		const pick = make('select', { 'aria-label': 'index of dim ' + d });
		for (let i = 0; i < n; i++)
			pick.append(make('option', {}, 'dim ' + d + ': ' + i));
		pick.onchange = () => {
			(tile.front = tile.front || tile.shape.slice(0, -2).map(() => 0))[d] = pick.selectedIndex;
			draw(tile, state);
		};
		choice.append(pick);
	});
	canvas.addEventListener('mousemove', event => {
		const at = state.cell(event), key = String(at);
		if (!at || key === state.key)
			return;
		state.key = key;
		const f = facts(tile, at);
		say.replaceChildren(...told(f).flatMap((s, i) => i ? [make('br'), s] : [make('b', {}, s)]));
		for (const k of ['thread', 'warp', 'lane', 'register', 'address', 'bank'])
			f[k] === undefined ? delete say.dataset[k] : say.dataset[k] = f[k];
		say.dataset.wavefront = f.waves && f.waves.length ? f.waves[f.waves.length - 1].wavefront : '';
		state.like = like(f);
		draw(tile, state);
	});
	canvas.addEventListener('mouseleave', () => { state.like = state.key = null; draw(tile, state); });
	const why = tile.demanded_by ? 'required by ' + tile.demanded_by.op + ', line ' + tile.demanded_by.line : tile.pinned ? 'pinned by the program' : '';
	const other = tile.runner_up ? 'alternative ' + tile.runner_up.layout + ' (candidate ' + tile.runner_up.candidate + ', ' +
		percent(100 * (tile.runner_up.cycles / kernel.cycles - 1)) + ')' : '';
	box.replaceChildren(make('h3', {}, tile.name + ': ' + tile.space + ' ' + tile.dtype + '[' + tile.shape.join(', ') + ']'),
		make('p', { class: 'layout code' }, tile.layout), make('p', { class: 'note' }, [why, other].filter(Boolean).join('; ')), choice, say,
		make('div', { class: 'scroll' }, canvas));
	for (const a of accesses(tile))
		box.append(make('p', { class: 'note' }, 'line ' + a.line + ', ' + a.instruction + ': ' + a.wavefronts + ' wavefronts (minimum ' + a.wavefronts_least +
			')' + (a.conflicts ? ', ' + a.conflicts + ' from bank conflicts' : ', no bank conflicts')));
	draw(tile, state);
	box.tile = tile;
	box.state = state;
}

function tiles() {
	const list = $('tiles'), seen = new Set();

	list.replaceChildren();
	$('tile').replaceChildren();
	for (const t of kernel.tiles) {
		const key = [t.name, t.space, t.dtype, t.shape, t.layout].join('|');
		if (seen.has(key))
			continue;
		seen.add(key);
		const li = make('li', { tabindex: 0, role: 'option', 'data-id': t.id }, t.name,
			make('small', {}, t.space + ' ' + t.dtype + '[' + t.shape.join(', ') + ']' + (t.swizzle ? ', swizzled' : '')));
		li.onclick = () => {
			for (const x of list.children)
				x.setAttribute('aria-selected', x === li);
			show_tile(t);
		};
		li.onkeydown = event => { if (event.key === 'Enter') li.onclick(); };
		list.append(li);
	}
	if (list.firstChild)
		list.firstChild.onclick();
}

// ---- source ------------------------------------------------------------------------------------------------------------

const cost = o => (o.cycles || 0) * (o.runs || 0);

function source() {
	const by = new Map(), box = $('lines');
	let all = 0, most = 0;

	for (const o of kernel.ops) {
		if (o.op === 'for' || !o.line)
			continue;
		by.set(o.line, [...by.get(o.line) || [], o]);
		all += cost(o);
	}
	const sum = n => (by.get(n) || []).reduce((x, o) => x + cost(o), 0);
	for (const n of by.keys())
		most = Math.max(most, sum(n));
	box.replaceChildren(...data.source.replace(/\n$/, '').split('\n').map((text, i) => {
		const n = i + 1, x = sum(n), bar = make('i');
		bar.style.width = most ? 100 * x / most + '%' : 0;
		const row = make('div', { class: 'row' + (x && x === most ? ' most' : ''), 'data-line': n, 'data-cycles': x.toFixed(1) },
			make('span', { class: 'at' }, String(n)), make('span', { class: 'cost' }, x >= 1 ? number(x) : ''),
			make('span', { class: 'bar' }, bar), make('span', {}, text || ' '));
		if (by.has(n) && x >= 1)
			tips(row, () => [make('b', {}, number(x) + ' cycles, ' + (100 * x / all).toFixed(1) + ' % of all lines'), parts(by.get(n))]);
		return row;
	}));
}

function parts(ops) {
	const t = make('table');

	for (const o of [...ops].sort((a, b) => cost(b) - cost(a)).slice(0, 12)) {
		if (cost(o) < 1)
			continue;
		const units = o.resources ? UNITS.filter(u => o.resources[u] >= 1).map(u => u + ' ' + number(o.resources[u])).join(', ') : '';
		t.append(make('tr', {}, make('td', {}, o.op + (o.instruction ? ' by ' + o.instruction : '')),
			make('td', { class: 'n' }, number(o.cycles) + ' × ' + (o.runs < 10 ? +o.runs.toFixed(2) : number(o.runs))), make('td', {}, units),
			make('td', {}, o.runner_up ? 'else ' + o.runner_up.instruction + ' ' + percent(100 * (o.runner_up.cycles / kernel.cycles - 1)) : '')));
	}
	return t;
}

// ---- the timeline --------------------------------------------------------------------------------------------------------

const WORDS = { work: 'compute', wait: 'stall', way: 'copy in flight', there: 'stage full', use: 'in use', busy: 'busy' };

function timeline() {
	const t = kernel.timeline, box = $('timeline');

	$('time').hidden = !t;
	if (!t)
		return;
	$('time-note').textContent = 'Predicted timeline of one block, alone on an SM: the first ' + t.turns + ' iterations of its pipeline loops, then the rest of the kernel. ' +
		(t.turn ? 'Steady state: ' + number(t.turn) + ' cycles/iteration, limited by ' + t.limit + '.' : '');
	const left = 170, width = 980, high = 26, top = 26, x = c => left + c * width / t.cycles;
	const svg = make('svg', { width: left + width + 20, height: top + t.rows.length * high + 8, role: 'img', 'aria-label': 'timeline' });
	for (let i = 0; i <= 10; i++)
		svg.append(make('path', { class: 'grid', d: 'M' + x(t.cycles * i / 10) + ' ' + top + 'v' + t.rows.length * high }),
			make('text', { class: 'soft', x: x(t.cycles * i / 10), y: top - 8, 'text-anchor': 'middle' }, number(t.cycles * i / 10)));
	t.rows.forEach((name, i) => svg.append(make('text', { x: left - 8, y: top + i * high + 17, 'text-anchor': 'end' }, name)));
	for (const s of t.spans) {
		const turn = s.turn === undefined ? -1 : s.turn, w = Math.max(1.5, x(s.to) - x(s.from) - 1), y = top + s.row * high;
		const rect = make('rect', { class: 'span ' + (s.kind === 'wait' ? 'wait' : turn < 0 ? 'plain' : s.kind), x: x(s.from), y: y + 3, width: w, height: high - 6, rx: 2,
			'data-row': t.rows[s.row], 'data-kind': s.kind, 'data-turn': turn });
		if (s.kind !== 'wait' && turn >= 0)
			rect.style.fill = shade(turn, s.kind);
		tips(rect, () => [make('b', {}, t.rows[s.row] + ': ' + WORDS[s.kind]), make('br'), s.what + (turn >= 0 ? ', turn ' + turn : ''), make('br'),
			number(s.from) + ' to ' + number(s.to) + ', ' + number(s.to - s.from) + ' cycles']);
		svg.append(rect);
		if (w >= 18 && s.kind !== 'wait' && turn >= 0) {
			const label = make('text', { x: x(s.from) + w / 2, y: y + 17, 'text-anchor': 'middle' }, String(turn));
			label.style.pointerEvents = 'none';
			svg.append(label);
		}
	}
	const key = (kind, words) => {
		const i = make('i');
		i.style.background = kind === 'wait' ? 'var(--wait)' : kind === 'plain' ? 'var(--plain)' : shade(5, kind);
		return make('span', {}, i, words);
	};
	box.replaceChildren(svg, make('div', { class: 'legend' }, key('way', 'copy in flight'), key('there', 'stage full'), key('use', 'in use, busy, compute'),
		key('wait', 'stall'), key('plain', 'outside loops'), 'numbers and colours: loop iterations'));
}
function shade(turn, kind) {
	const strength = { way: 0, there: 1, use: 3, busy: 3, work: 3 }[kind];

	return 'hsl(' + turn * 47 % 360 + ' ' + (30 + strength * 12) + '% ' + (dark() ? 22 + strength * 6 : 91 - strength * 8) + '%)';
}

// ---- solutions -------------------------------------------------------------------------------------------------------------

function solutions() {
	const all = kernel.candidates, taken = all[kernel.candidate], say = make('ul'), other = all.find((c, i) => i !== kernel.candidate);

	if (other)
		say.append(make('li', {}, 'Runner-up: candidate ' + other.index + ', ' + number(other.cycles) + ' cycles, ' + percent(100 * (other.cycles / taken.cycles - 1)) + '.'));
	const up = r => r ? ' candidate ' + r.candidate + ', ' + percent(100 * (r.cycles / kernel.cycles - 1)) : '';
	if (kernel.schedule)
		say.append(make('li', {}, 'Schedule: ' + kernel.schedule.taken + (kernel.schedule.no_roles ? '; no roles: ' + kernel.schedule.no_roles : '') +
			(kernel.schedule.runner_up ? '; alternative:' + up(kernel.schedule.runner_up) : '') + '.'));
	if (kernel.open_warps)
		say.append(make('li', {}, 'Warps: chosen ' + kernel.open_warps.taken + '; alternative:' + up(kernel.open_warps.runner_up) + '.'));
	if (kernel.sparse)
		say.append(make('li', {}, 'Zeros of sparse tiles: ' + kernel.sparse.zeros + '; alternative:' + up(kernel.sparse.runner_up) + '.'));
	if (kernel.scales)
		say.append(make('li', {}, 'Block scales: applied ' + kernel.scales.applied + '; alternative:' + up(kernel.scales.runner_up) + '.'));
	for (const p of kernel.places || [])
		say.append(make('li', {}, p.name + ' of line ' + p.line + ': ' + p.space + (p.runner_up ? '; alternative:' + up(p.runner_up) : '') + '.'));
	for (const l of kernel.loops || [])
		say.append(make('li', {}, 'Loop of line ' + l.line + ': ' + l.split + '.'));
	$('choices').replaceChildren(say);
	const most = Math.max(...all.map(c => c.cycles)), parts_of = c => c.text.split('; ');
	const table = make('table', {}, make('tr', {}, ...['', 'cycles', '', 'against', 'alone', 'blocks', 'registers', 'differences from the chosen one'].map(s => make('th', {}, s))));
	all.forEach((c, i) => {
		const bar = make('i'), mine = parts_of(c), own = parts_of(taken);
		bar.style.cssText = 'display:block;height:9px;border-radius:2px;background:var(--bar);width:' + 100 * c.cycles / most + 'px';
		table.append(make('tr', { class: i === kernel.candidate ? 'taken' : null, 'data-index': c.index }, make('td', { class: 'n' }, String(c.index)),
			make('td', { class: 'n' }, number(c.cycles)), make('td', {}, bar), make('td', { class: 'n' }, percent(100 * (c.cycles / taken.cycles - 1))),
			make('td', { class: 'n' }, number(c.alone)), make('td', { class: 'n' }, String(c.blocks_together)), make('td', { class: 'n' }, String(c.registers)),
			make('td', { class: 'differs' }, i === kernel.candidate ? 'taken: ' + c.text : mine.filter(s => !own.includes(s)).join('; ') || c.text)));
	});
	$('candidates').replaceChildren(table);
}

// ---- the whole ----------------------------------------------------------------------------------------------------------------

function summary() {
	const k = kernel, fact = (value, words) => make('div', { class: 'fact' }, make('b', {}, value), make('span', {}, words));
	const limit = UNITS.reduce((a, b) => k.total[b] > k.total[a] ? b : a), units = make('div', { class: 'fact units' });

	for (const u of UNITS) {
		const bar = make('i');
		bar.style.width = 100 * k.total[u] / k.total[limit] + '%';
		units.append(make('div', { class: 'unit' + (u === limit ? ' most' : ''), 'data-unit': u }, make('span', {}, u), bar, make('span', {}, number(k.total[u]))));
	}
	units.append(make('span', {}, 'cycles of a block by unit; limited by ' + limit));
	$('summary').replaceChildren(fact(number(k.cycles), 'predicted cycles/block'), fact(String(k.warps), 'warps' + (k.timeline && k.timeline.rows.includes('producer') ? ' in consumers' : '')),
		fact(String(k.blocks_together), 'blocks/SM'), fact(String(k.registers), 'registers/thread'),
		fact((k.shared_bytes / 1024).toFixed(1) + ' KiB', 'of shared memory'), fact(k.candidate + ' of ' + k.candidates.length, 'candidate'), units);
	$('summary').dataset.limit = limit;
}

function show(k) {
	kernel = k;
	document.title = k.entry + ' for ' + k.arch;
	$('title').replaceChildren(k.entry + ' ', make('small', {}, 'for ' + k.arch + ', ' + data.file + ', ' + data.build));
	for (const b of $('kernels').children)
		b.setAttribute('aria-pressed', b.textContent === k.entry);
	summary();
	source();
	timeline();
	tiles();
	solutions();
	$('text').textContent = k.text;
}

if (data.kernels.length > 1)
	for (const k of data.kernels) {
		const b = make('button', { type: 'button' }, k.entry);
		b.onclick = () => show(k);
		$('kernels').append(b);
	}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => show(kernel));
if (data.kernels.length)
	show(data.kernels[0]);
})();
